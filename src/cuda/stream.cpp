// SPDX-License-Identifier: BSD-3-Clause
// Making and destroying streams, events and primary contexts.
#include "cuda/stream.hpp"

#include <mutex>

#include "base/log.hpp"
#include "cuda/context.hpp"

namespace beeline::cuda {

Result<Event> Event::create(const Driver& driver) noexcept {
    Event event;
    event.driver_ = &driver;
    const CUresult result = driver.cuEventCreate(&event.event_, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) {
        report_failure(driver, "cuEventCreate", result, nullptr, "the copy is not started");
        event.event_ = nullptr;
        return Status::kDriver;
    }
    return event;
}

Event::~Event() {
    if (event_ != nullptr) {
        driver_->cuEventDestroy(event_);  // fails harmlessly when the context is already gone
    }
}

Result<Stream> Stream::create(const Driver& driver) noexcept {
    Stream stream;
    stream.driver_ = &driver;
    const CUresult result = driver.cuStreamCreate(&stream.stream_, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) {
        report_failure(driver, "cuStreamCreate", result, nullptr, "the copy is not started");
        stream.stream_ = nullptr;
        return Status::kDriver;
    }
    return stream;
}

Stream::~Stream() {
    if (stream_ != nullptr) {
        driver_->cuStreamDestroy(stream_);
    }
}

CUcontext primary_context(const Driver& driver, int device) noexcept {
    constexpr int kDevices = 64;
    static std::mutex mutex;
    static CUcontext contexts[kDevices];
    if (device < 0 || device >= kDevices) {
        return nullptr;
    }
    std::lock_guard lock(mutex);
    if (contexts[device] == nullptr) {
        const CUresult result = driver.cuDevicePrimaryCtxRetain(&contexts[device], device);
        if (result != CUDA_SUCCESS) {
            report_failure(driver, "cuDevicePrimaryCtxRetain", result, nullptr,
                           "memory of this device cannot be copied");
            contexts[device] = nullptr;
        }
    }
    return contexts[device];
}

}  // namespace beeline::cuda
