// SPDX-License-Identifier: BSD-3-Clause
// Loading the fused collective kernels.
#include "coll/exec/fused_kernels.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "coll/kernel/fused_image.hpp"
#include "cuda/context.hpp"

namespace beeline::coll::exec {
namespace {

struct Loaded {
    const cuda::Driver* driver = nullptr;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    std::array<CUfunction, kernel::kKernels> functions{};
};

constinit std::mutex mutex;

std::vector<std::unique_ptr<Loaded>>& table() noexcept {
    static std::vector<std::unique_ptr<Loaded>> instance;
    return instance;
}

bool load(Loaded& loaded) noexcept {
    const cuda::Driver& driver = *loaded.driver;
    const cuda::CaptureScope captures(driver);
    const char* consequence = "small collectives of device memory take several steps";
    const CUresult result = driver.cuModuleLoadData(&loaded.module, kernel::fused_image());
    if (result != CUDA_SUCCESS) {
        loaded.module = nullptr;
        cuda::report_failure(driver, "cuModuleLoadData", result, nullptr, consequence);
        return false;
    }
    CUfunction source = nullptr;
    if (driver.cuModuleGetFunction(&source, loaded.module, kernel::fused_source_kernel_name()) !=
        CUDA_SUCCESS) {
        log_once(LogLevel::kWarning, "coll.fused_kernels",
                 "the fused kernels found are not this version's (%s is missing; with the software "
                 "device, check SOFTCUDA_KERNELS): %s",
                 kernel::fused_source_kernel_name(), consequence);
        driver.cuModuleUnload(loaded.module);
        loaded.module = nullptr;
        return false;
    }
    return true;
}

/// The entry of a context, loaded; one without a module when it cannot be. Null without memory.
Loaded* find(const cuda::Driver& driver, CUcontext context) noexcept {
    for (const auto& loaded : table()) {
        if (loaded->context == context) {
            return loaded.get();
        }
    }
    try {
        auto loaded = std::make_unique<Loaded>();
        loaded->driver = &driver;
        loaded->context = context;
        load(*loaded);
        table().push_back(std::move(loaded));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    return table().back().get();
}

}  // namespace

CUfunction fused_kernel(const cuda::Driver& driver, CUcontext context, kernel::Type type,
                        kernel::Op op) noexcept {
    const int index = kernel::kernel_index(type, op);
    if (index < 0) {
        return nullptr;
    }
    const std::lock_guard lock(mutex);
    Loaded* loaded = find(driver, context);
    if (loaded == nullptr || loaded->module == nullptr) {
        return nullptr;
    }
    CUfunction& function = loaded->functions[static_cast<std::size_t>(index)];
    if (function == nullptr) {
        const cuda::CaptureScope captures(driver);
        const CUresult result = driver.cuModuleGetFunction(&function, loaded->module,
                                                           kernel::fused_kernel_name(type, op));
        if (result != CUDA_SUCCESS) {
            function = nullptr;
            cuda::report_failure(driver, "cuModuleGetFunction", result, nullptr,
                                 "the collective ends with an error");
        }
    }
    return function;
}

void forget_fused_kernels(CUcontext context) noexcept {
    const std::lock_guard lock(mutex);
    std::erase_if(table(), [context](const auto& loaded) { return loaded->context == context; });
}

void release_fused_kernels() noexcept {
    const std::lock_guard lock(mutex);
    for (const auto& loaded : table()) {
        const cuda::ContextScope scope(*loaded->driver, loaded->context);
        if (scope.result() == CUDA_SUCCESS && loaded->module != nullptr) {
            loaded->driver->cuModuleUnload(loaded->module);
        }
    }
    table().clear();
}

}  // namespace beeline::coll::exec
