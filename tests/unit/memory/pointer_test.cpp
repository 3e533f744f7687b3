// SPDX-License-Identifier: BSD-3-Clause
// Without a driver everything is host memory; one that is loaded later is noticed. (With a driver:
// device_pointer_test.cpp.)
#include "memory/pointer.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "cuda/driver.hpp"

namespace beeline::memory {
namespace {

TEST(Classify, EverythingIsHostWithoutADriver) {
    int local = 0;
    EXPECT_EQ(classify(nullptr).kind, Kind::kHost);
    EXPECT_EQ(classify(&local).kind, Kind::kHost);
    EXPECT_FALSE(classify(&local).on_device());
    EXPECT_EQ(classify(reinterpret_cast<void*>(0x7f0000000000)).kind, Kind::kHost);
    EXPECT_EQ(cuda::Driver::find(), nullptr);
    EXPECT_EQ(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), nullptr) << "and none was loaded";
}

/// In a process of its own: a library once loaded stays.
[[noreturn]] void load_after_a_look() {
    int local = 0;
    const auto check = [](bool good, int code) {
        if (!good) {
            std::_Exit(code);
        }
    };
    setenv("SOFTCUDA_QUIET", "1", 1);
    check(classify(&local).kind == Kind::kHost, 1);
    check(cuda::Driver::find() == nullptr, 2);
    void* other = dlopen("libpthread.so.0", RTLD_NOW);  // something new, but no driver
    check(cuda::Driver::find() == nullptr, 3);
    check(dlopen(".libs/libcuda.so.1", RTLD_NOW) != nullptr, 4);
    check(classify(&local).kind == Kind::kHost, 5);  // not initialised yet
    const cuda::Driver* driver = cuda::Driver::find();
    check(driver != nullptr, 6);
    check(driver->cuInit(0) == CUDA_SUCCESS, 7);
    CUcontext context = nullptr;
    check(driver->cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS, 8);
    check(driver->cuCtxPushCurrent(context) == CUDA_SUCCESS, 9);
    CUdeviceptr device = 0;
    check(driver->cuMemAlloc(&device, 64) == CUDA_SUCCESS, 10);
    check(classify(reinterpret_cast<void*>(device)).kind == Kind::kDevice, 11);
    check(classify(&local).kind == Kind::kHost, 12);
    if (other != nullptr) {
        dlclose(other);
    }
    std::_Exit(0);
}

TEST(ClassifyDeathTest, ADriverLoadedLaterIsNoticed) {
    EXPECT_EXIT(load_after_a_look(), testing::ExitedWithCode(0), "");
}

TEST(Classify, KindsHaveNames) {
    EXPECT_STREQ(to_string(Kind::kHost), "host");
    EXPECT_STREQ(to_string(Kind::kPinned), "pinned");
    EXPECT_STREQ(to_string(Kind::kManaged), "managed");
    EXPECT_STREQ(to_string(Kind::kDevice), "device");
}

}  // namespace
}  // namespace beeline::memory
