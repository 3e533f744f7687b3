// SPDX-License-Identifier: BSD-3-Clause
// Finding an already loaded libcuda.so.1 without loading it, and noticing when the application
// loads it later.
#include "cuda/driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <mutex>

#include "base/log.hpp"
#include "config/config.hpp"

namespace beeline::cuda {
namespace {

// cuda.h maps names to versioned symbols with macros; two levels of expansion give the real symbol.
#define BEELINE_STRING_OF(name) #name
#define BEELINE_SYMBOL(name) BEELINE_STRING_OF(name)

constexpr char kLibrary[] = "libcuda.so.1";

std::atomic<const Driver*> found{nullptr};

/// The newest shared object of the process when we last looked, held so that it cannot be unmapped:
/// objects loaded later are appended behind it, so one pointer tells whether there is anything new.
std::atomic<const link_map*> newest{nullptr};
void* newest_handle = nullptr;

void remember_newest() noexcept {
    void* self = dlopen(nullptr, RTLD_LAZY);
    link_map* map = nullptr;
    if (self == nullptr || dlinfo(self, RTLD_DI_LINKMAP, &map) != 0) {
        return;
    }
    while (map->l_next != nullptr) {
        map = map->l_next;
    }
    dlclose(self);
    void* handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    newest.store(handle != nullptr ? map : nullptr, std::memory_order_release);
    if (newest_handle != nullptr) {
        dlclose(newest_handle);
    }
    newest_handle = handle;
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

[[gnu::cold]] const Driver* look() noexcept {
    static std::mutex mutex;
    static Driver table;
    static bool unusable = false;
    std::lock_guard lock(mutex);
    if (const Driver* driver = found.load(std::memory_order_acquire); driver != nullptr) {
        return driver;
    }
    if (unusable || !config::params().pml_cuda) {
        return nullptr;
    }
    void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) {
        remember_newest();
        return nullptr;
    }
    // The handle is kept on purpose: the driver must outlive everything that may call it.
    if (!load_table(library, table)) {
        unusable = true;
        return nullptr;
    }
    found.store(&table, std::memory_order_release);
    return &table;
}

}  // namespace

const Driver* Driver::find() noexcept {
    if (const Driver* driver = found.load(std::memory_order_acquire); driver != nullptr) {
        return driver;
    }
    const link_map* last = newest.load(std::memory_order_acquire);
    if (last != nullptr && last->l_next == nullptr) {
        return nullptr;
    }
    return look();
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
