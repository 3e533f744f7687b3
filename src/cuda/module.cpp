// SPDX-License-Identifier: BSD-3-Clause
// Loading kernel images and finding kernels in them.
#include "cuda/module.hpp"

#include "base/log.hpp"

namespace beeline::cuda {

Result<Module> Module::load(const Driver& driver, const void* image) noexcept {
    Module module;
    module.driver_ = &driver;
    const CUresult result = driver.cuModuleLoadData(&module.module_, image);
    if (result != CUDA_SUCCESS) {
        report_failure(driver, "cuModuleLoadData", result, image,
                       "its work is done without these kernels");
        module.module_ = nullptr;
        return Status::kDriver;
    }
    return module;
}

Module::~Module() {
    if (module_ != nullptr) {
        driver_->cuModuleUnload(module_);
    }
}

Result<CUfunction> Module::function(const char* name) const noexcept {
    CUfunction function = nullptr;
    const CUresult result = driver_->cuModuleGetFunction(&function, module_, name);
    if (result != CUDA_SUCCESS) {
        log_once(LogLevel::kWarning, "cuda.function",
                 "cuModuleGetFunction(%s) failed with %s: its work is done without it", name,
                 driver_->name_of(result));
        return Status::kNotFound;
    }
    return function;
}

}  // namespace beeline::cuda
