// SPDX-License-Identifier: BSD-3-Clause
// Finding an already loaded libcuda.so.1 without loading it, and noticing when the application
// loads it later.
#include "cuda/driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <mutex>
#include <utility>

#include "base/log.hpp"
#include "config/config.hpp"

namespace beeline::cuda {
namespace {

// cuda.h maps names to versioned symbols with macros; two levels of expansion give the real symbol.
#define BEELINE_STRING_OF(name) #name
#define BEELINE_SYMBOL(name) BEELINE_STRING_OF(name)

constexpr char kLibrary[] = "libcuda.so.1";

/// The last object in the process's list, held by `handle`; null when it cannot be.
const link_map* hold_newest(void*& handle) noexcept {
    void* self = dlopen(nullptr, RTLD_LAZY);
    link_map* map = nullptr;
    if (self == nullptr || dlinfo(self, RTLD_DI_LINKMAP, &map) != 0) {
        return nullptr;
    }
    while (map->l_next != nullptr) {
        map = map->l_next;
    }
    dlclose(self);
    handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    return handle != nullptr ? map : nullptr;
}

bool load_table(void* library, Driver& driver) noexcept {
    const char* missing = nullptr;
#define BEELINE_CUDA_LOAD(name)                                                                  \
    driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, BEELINE_SYMBOL(name))); \
    if (driver.name == nullptr && missing == nullptr) {                                          \
        missing = BEELINE_SYMBOL(name);                                                          \
    }
    BEELINE_CUDA_REQUIRED(BEELINE_CUDA_LOAD)
#undef BEELINE_CUDA_LOAD
#define BEELINE_CUDA_LOAD(name) \
    driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, BEELINE_SYMBOL(name)));
    BEELINE_CUDA_OPTIONAL(BEELINE_CUDA_LOAD)
#undef BEELINE_CUDA_LOAD
    if (missing != nullptr) {
        log_once(LogLevel::kWarning, "cuda.missing",
                 "%s lacks %s (driver too old?): device pointers are not recognised", kLibrary,
                 missing);
        return false;
    }
    return true;
}

}  // namespace

std::atomic<const Driver*> Driver::found_{nullptr};
std::atomic<const link_map*> Driver::newest_{nullptr};

[[gnu::cold]] const Driver* Driver::look() noexcept {
    static std::mutex mutex;
    static Driver table;
    static bool unusable = false;
    static void* newest_handle = nullptr;
    std::lock_guard lock(mutex);
    if (const Driver* driver = found_.load(std::memory_order_acquire); driver != nullptr) {
        return driver;
    }
    unusable = unusable || !config::params().pml_cuda;
    void* library = unusable ? nullptr : dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
    // The handle is kept on purpose: the driver must outlive everything that may call it.
    if (library == nullptr || !load_table(library, table)) {
        unusable = unusable || library != nullptr;
        void* handle = nullptr;
        newest_.store(hold_newest(handle), std::memory_order_release);
        if (void* before = std::exchange(newest_handle, handle); before != nullptr) {
            dlclose(before);
        }
        return nullptr;
    }
    found_.store(&table, std::memory_order_release);
    return &table;
}

const char* Driver::name_of(CUresult result) const noexcept {
    const char* name = nullptr;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr ? name
                                                                            : "unknown CUDA error";
}

bool is_gone(CUresult result) noexcept {
    return result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED ||
           result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool is_asynchronous(CUresult result) noexcept {
    switch (result) {
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_CONTAINED:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_TENSOR_MEMORY_LEAK:
            return true;
        default:
            return false;
    }
}

void report_failure(const Driver& driver, const char* call, CUresult result, const void* pointer,
                    const char* consequence) noexcept {
    log_once(LogLevel::kWarning, call, "%s failed with %s (pointer %p)%s: %s", call,
             driver.name_of(result), pointer,
             is_asynchronous(result)
                 ? ", an error of earlier asynchronous work on the device, such "
                   "as a kernel of the application"
                 : "",
             consequence);
}

}  // namespace beeline::cuda
