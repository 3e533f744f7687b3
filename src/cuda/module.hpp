// SPDX-License-Identifier: BSD-3-Clause
// A loaded image of kernels, of the context that was current when it was loaded.
#pragma once

#include <utility>

#include "cuda/driver.hpp"

namespace beeline::cuda {

/// Kernels loaded from PTX text, a cubin or a fatbin.
class Module {
 public:
    Module() = default;
    /// Loads `image` into the current context. kDriver with the reason logged when the driver
    /// refuses it.
    static Result<Module> load(const Driver& driver, const void* image) noexcept;
    Module(Module&& other) noexcept
        : driver_(other.driver_), module_(std::exchange(other.module_, nullptr)) {}
    Module& operator=(Module&& other) noexcept {
        std::swap(driver_, other.driver_);
        std::swap(module_, other.module_);
        return *this;
    }
    ~Module();
    /// The kernel called `name`, valid while the module lives; kNotFound when the image lacks it.
    Result<CUfunction> function(const char* name) const noexcept;
    explicit operator bool() const noexcept { return module_ != nullptr; }
    /// Its context is gone, and the handle may be another's by now: it is not unloaded.
    void forget() noexcept { module_ = nullptr; }

 private:
    const Driver* driver_ = nullptr;
    CUmodule module_ = nullptr;
};

}  // namespace beeline::cuda
