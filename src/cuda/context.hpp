// SPDX-License-Identifier: BSD-3-Clause
// Context manners: the caller's current context is found, and left, as it was.
#pragma once

#include "cuda/driver.hpp"

namespace beeline::cuda {

/// Makes a context current for the life of this object and restores the caller's afterwards.
class ContextScope {
 public:
    ContextScope(const Driver& driver, CUcontext context) noexcept
        : driver_(driver), result_(driver.cuCtxPushCurrent(context)) {}
    ~ContextScope() {
        if (result_ == CUDA_SUCCESS) {
            CUcontext popped = nullptr;
            driver_.cuCtxPopCurrent(&popped);
        }
    }
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;

    /// CUDA_SUCCESS when the context is current.
    CUresult result() const noexcept { return result_; }

 private:
    const Driver& driver_;
    CUresult result_;
};

/// The primary context of a device, retained once for the life of the process; null with the reason
/// logged when the driver refuses. Used for memory that belongs to no context (VMM, stream-ordered
/// pools).
CUcontext primary_context(const Driver& driver, int device) noexcept;

}  // namespace beeline::cuda
