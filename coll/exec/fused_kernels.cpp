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
    std::array<CUmodule, kernel::kFamilies> modules{};
    std::array<bool, kernel::kFamilies> tried{};
    std::array<CUfunction, kernel::kKernels> functions{};
};

constinit std::mutex mutex;

std::vector<std::unique_ptr<Loaded>>& table() noexcept {
    static std::vector<std::unique_ptr<Loaded>> instance;
    return instance;
}

void load(const cuda::Driver& driver, kernel::Family family, CUmodule& module) noexcept {
    const cuda::CaptureScope captures(driver);
    const char* consequence = "small collectives of device memory take several steps";
    const CUresult result = driver.cuModuleLoadData(&module, kernel::fused_image(family));
    if (result != CUDA_SUCCESS) {
        module = nullptr;
        cuda::report_failure(driver, "cuModuleLoadData", result, nullptr, consequence);
        return;
    }
    CUfunction source = nullptr;
    if (driver.cuModuleGetFunction(&source, module, kernel::fused_source_kernel_name()) !=
        CUDA_SUCCESS) {
        log_once(LogLevel::kWarning, "coll.fused_kernels",
                 "the fused kernels found are not this version's (%s is missing; with the software "
                 "device, check SOFTCUDA_KERNELS): %s",
                 kernel::fused_source_kernel_name(), consequence);
        driver.cuModuleUnload(module);
        module = nullptr;
    }
}

/// The entry of a context; null without memory.
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
    if (loaded == nullptr) {
        return nullptr;
    }
    const kernel::Family family = kernel::family_of(index);
    CUmodule& module = loaded->modules[static_cast<std::size_t>(family)];
    bool& tried = loaded->tried[static_cast<std::size_t>(family)];
    if (!tried) {
        tried = true;
        load(driver, family, module);
    }
    if (module == nullptr) {
        return nullptr;
    }
    CUfunction& function = loaded->functions[static_cast<std::size_t>(index)];
    if (function == nullptr) {
        const cuda::CaptureScope captures(driver);
        const CUresult result =
            driver.cuModuleGetFunction(&function, module, kernel::fused_kernel_name(type, op));
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
        for (CUmodule module : loaded->modules) {
            if (scope.result() == CUDA_SUCCESS && module != nullptr) {
                loaded->driver->cuModuleUnload(module);
            }
        }
    }
    table().clear();
}

}  // namespace beeline::coll::exec
