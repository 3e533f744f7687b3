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

namespace {

constexpr int kDevices = 64;
std::mutex primary_mutex;
CUcontext primary_contexts[kDevices];

/// The caller's context if it is one of `device` while nobody uses the primary one; else null.
CUcontext only_context(const Driver& driver, int device) noexcept {
    unsigned flags = 0;
    int active = 1;
    CUcontext current = nullptr;
    CUdevice of = -1;
    if (driver.cuDevicePrimaryCtxGetState == nullptr || driver.cuCtxGetDevice == nullptr ||
        driver.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active != 0 ||
        driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr ||
        driver.cuCtxGetDevice(&of) != CUDA_SUCCESS || of != device) {
        return nullptr;
    }
    return current;
}

}  // namespace

CUcontext context_of_device(const Driver& driver, int device) noexcept {
    if (device < 0 || device >= kDevices) {
        return nullptr;
    }
    std::lock_guard lock(primary_mutex);
    if (primary_contexts[device] != nullptr) {
        return primary_contexts[device];
    }
    if (CUcontext current = only_context(driver, device); current != nullptr) {
        return current;
    }
    const CUresult result = driver.cuDevicePrimaryCtxRetain(&primary_contexts[device], device);
    if (result != CUDA_SUCCESS) {
        report_failure(driver, "cuDevicePrimaryCtxRetain", result, nullptr,
                       "memory of this device cannot be copied");
        primary_contexts[device] = nullptr;
    }
    return primary_contexts[device];
}

void release_primary_contexts(const Driver& driver) noexcept {
    std::lock_guard lock(primary_mutex);
    for (int device = 0; device < kDevices; ++device) {
        if (primary_contexts[device] != nullptr && driver.cuDevicePrimaryCtxRelease != nullptr) {
            driver.cuDevicePrimaryCtxRelease(device);
        }
        primary_contexts[device] = nullptr;
    }
}

}  // namespace beeline::cuda
