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

/// Lets this thread make the calls that CUDA forbids while the application captures a stream in
/// the global mode (queries of events, registrations): ours concern no captured stream, and without
/// this they would invalidate the capture.
class CaptureScope {
 public:
    explicit CaptureScope(const Driver& driver) noexcept : driver_(driver) { exchange(); }
    ~CaptureScope() { exchange(); }
    CaptureScope(const CaptureScope&) = delete;
    CaptureScope& operator=(const CaptureScope&) = delete;

 private:
    void exchange() noexcept {
        if (driver_.cuThreadExchangeStreamCaptureMode != nullptr) {
            driver_.cuThreadExchangeStreamCaptureMode(&mode_);
        }
    }
    const Driver& driver_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// A context to copy memory under that belongs to none (VMM, stream-ordered pools): the device's
/// primary context, or the caller's current one where the application has not made the primary one.
/// Retained until release_primary_contexts(). Null with the reason logged when the driver refuses.
CUcontext context_of_device(const Driver& driver, int device) noexcept;

/// Gives back what context_of_device() retained, at finalize.
void release_primary_contexts(const Driver& driver) noexcept;

}  // namespace beeline::cuda
