// SPDX-License-Identifier: BSD-3-Clause
// Device memory for the MPI tests, through whichever libcuda.so.1 the loader finds.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace beeline::test {

/// The few driver functions that the tests need. Ends the process when something is missing.
class Device {
 public:
    /// Loads the driver and makes device `ordinal` (modulo the number of devices) current.
    void open(int ordinal) {
        library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (library_ == nullptr) {
            std::fprintf(stderr, "no libcuda.so.1: %s\n", dlerror());
            std::exit(77);
        }
        check(function<int(unsigned)>("cuInit")(0), "cuInit");
        int count = 0;
        check(function<int(int*)>("cuDeviceGetCount")(&count), "cuDeviceGetCount");
        int device = 0;
        check(function<int(int*, int)>("cuDeviceGet")(&device, ordinal % count), "cuDeviceGet");
        void* context = nullptr;
        check(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), "retain");
        check(function<int(void*)>("cuCtxPushCurrent_v2")(context), "cuCtxPushCurrent");
        allocate_ = function<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
        free_ = function<int(std::uint64_t)>("cuMemFree_v2");
        copy_ = function<int(std::uint64_t, std::uint64_t, std::size_t)>("cuMemcpy");
    }
    void* allocate(std::size_t bytes) {
        std::uint64_t address = 0;
        check(allocate_(&address, bytes), "cuMemAlloc");
        return reinterpret_cast<void*>(address);
    }
    void release(void* memory) {
        check(free_(reinterpret_cast<std::uint64_t>(memory)), "cuMemFree");
    }
    void copy(void* to, const void* from, std::size_t bytes) {
        check(copy_(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from),
                    bytes),
              "cuMemcpy");
    }

 private:
    template <class Signature>
    Signature* function(const char* name) {
        void* found = dlsym(library_, name);
        if (found == nullptr) {
            std::fprintf(stderr, "libcuda.so.1 lacks %s\n", name);
            std::exit(1);
        }
        return reinterpret_cast<Signature*>(found);
    }
    static void check(int result, const char* call) {
        if (result != 0) {
            std::fprintf(stderr, "%s failed with CUDA error %d\n", call, result);
            std::exit(1);
        }
    }
    void* library_ = nullptr;
    int (*allocate_)(std::uint64_t*, std::size_t) = nullptr;
    int (*free_)(std::uint64_t) = nullptr;
    int (*copy_)(std::uint64_t, std::uint64_t, std::size_t) = nullptr;
};

}  // namespace beeline::test
