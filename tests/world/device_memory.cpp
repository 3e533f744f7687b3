// SPDX-License-Identifier: BSD-3-Clause
// Test memory of every kind.
#include "tests/world/device_memory.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "memory/copy.hpp"

namespace beeline::world {
namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr std::size_t kMargin = 64;

void* library = nullptr;

// The name as the driver exports it, after cuda.h's macros.
#define BEELINE_STRING(name) #name
#define BEELINE_STRING_OF(name) BEELINE_STRING(name)
#define BEELINE_FUNCTION(name) \
    reinterpret_cast<decltype(&name)>(dlsym(library, BEELINE_STRING_OF(name)))

}  // namespace

const cuda::Driver* load_driver() {
    const char* path = std::getenv("BEELINE_TEST_CUDA");
    setenv("SOFTCUDA_KERNELS", ".libs/libbeeline_kernels.so", 0);
    setenv("SOFTCUDA_DEVICES", "3", 0);
    setenv("SOFTCUDA_ASYNC", "always", 0);  // a missing wait must show
    library = dlopen(path != nullptr ? path : ".libs/libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        ADD_FAILURE() << dlerror();
        return nullptr;
    }
    const cuda::Driver* driver = cuda::Driver::find();
    EXPECT_NE(driver, nullptr);
    if (driver != nullptr) {
        EXPECT_EQ(driver->cuInit(0), CUDA_SUCCESS);
    }
    return driver;
}

void* software_entry(const char* name) {
    return dlsym(library, name);
}

void use_device(const cuda::Driver& driver, int rank) {
    int devices = 0;
    ASSERT_EQ(driver.cuDeviceGetCount(&devices), CUDA_SUCCESS);
    ASSERT_GT(devices, 0);
    CUcontext context = nullptr;
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, rank % devices), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxPushCurrent(context), CUDA_SUCCESS);
}

void reset_device(const cuda::Driver& driver, int rank) {
    int devices = 0;
    ASSERT_EQ(driver.cuDeviceGetCount(&devices), CUDA_SUCCESS);
    ASSERT_EQ(BEELINE_FUNCTION(cuDevicePrimaryCtxReset)(rank % devices), CUDA_SUCCESS);
}

Buffer::Buffer(const cuda::Driver& driver, memory::Kind kind, std::size_t bytes, std::size_t skew)
    : driver_(driver),
      kind_(kind),
      bytes_(bytes),
      offset_(kMargin + skew),
      size_(bytes + skew + 2 * kMargin) {
    CUdeviceptr address = 0;
    switch (kind_) {
        case memory::Kind::kHost:
            base_ = std::aligned_alloc(64, (size_ + 63) / 64 * 64);
            break;
        case memory::Kind::kPinned:
            EXPECT_EQ(BEELINE_FUNCTION(cuMemHostAlloc)(&base_, size_, 0), CUDA_SUCCESS);
            break;
        case memory::Kind::kManaged:
            EXPECT_EQ(BEELINE_FUNCTION(cuMemAllocManaged)(&address, size_, CU_MEM_ATTACH_GLOBAL),
                      CUDA_SUCCESS);
            base_ = reinterpret_cast<void*>(address);
            break;
        case memory::Kind::kDevice:
            EXPECT_EQ(driver_.cuMemAlloc(&address, size_), CUDA_SUCCESS);
            base_ = reinterpret_cast<void*>(address);
            break;
    }
    EXPECT_EQ(memory::classify(base_).kind, kind_);
    const std::vector<unsigned char> poison(size_, kPoison);
    EXPECT_EQ(memory::copy(base_, poison.data(), size_), Status::kOk);
}

Buffer::~Buffer() {
    switch (kind_) {
        case memory::Kind::kHost:
            std::free(base_);
            break;
        case memory::Kind::kPinned:
            BEELINE_FUNCTION(cuMemFreeHost)(base_);
            break;
        case memory::Kind::kManaged:
        case memory::Kind::kDevice:
            driver_.cuMemFree(reinterpret_cast<CUdeviceptr>(base_));
            break;
    }
}

void Buffer::write(const std::vector<unsigned char>& bytes) {
    EXPECT_EQ(memory::copy(data(), bytes.data(), bytes.size()), Status::kOk);
}

std::vector<unsigned char> Buffer::read_all() const {
    std::vector<unsigned char> all(size_);
    EXPECT_EQ(memory::copy(all.data(), base_, size_), Status::kOk);
    return all;
}

std::vector<unsigned char> Buffer::read() const {
    const std::vector<unsigned char> all = read_all();
    const auto start = all.begin() + static_cast<std::ptrdiff_t>(offset_);
    return {start, start + static_cast<std::ptrdiff_t>(bytes_)};
}

bool Buffer::margins_untouched() const {
    const std::vector<unsigned char> all = read_all();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if ((i < offset_ || i >= offset_ + bytes_) && all[i] != kPoison) {
            return false;
        }
    }
    return true;
}

}  // namespace beeline::world
