// SPDX-License-Identifier: BSD-3-Clause
// Per-thread device and error, and the primary contexts that the runtime holds for the process.
#include "softcuda/runtime/state.hpp"

#include <atomic>
#include <mutex>

namespace softcuda::runtime {
namespace {

constexpr int kMaxDevices = 64;

struct Thread {
    int device = 0;
    cudaError_t last = cudaSuccess;
    unsigned generation = 0;  ///< of the resets this thread has taken notice of
};

thread_local constinit Thread self;
constinit std::atomic<unsigned> resets{0};
constinit std::mutex retained_lock;
constinit CUcontext retained[kMaxDevices] = {};

bool ours(CUcontext context) {
    const std::lock_guard guard(retained_lock);
    for (const CUcontext held : retained) {
        if (held == context) {
            return true;
        }
    }
    return false;
}

/// After a reset elsewhere, a thread may still point at the primary context that is gone; unless
/// the runtime has brought it back, drop it so that the next step makes a new one.
void notice_resets() {
    const unsigned now = resets.load(std::memory_order_acquire);
    if (self.generation == now) {
        return;
    }
    self.generation = now;
    CUcontext current = nullptr;
    unsigned version = 0;
    if (cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr && !ours(current) &&
        cuCtxGetApiVersion(current, &version) != CUDA_SUCCESS) {
        static_cast<void>(cuCtxSetCurrent(nullptr));
    }
}

}  // namespace

cudaError_t record(cudaError_t error) {
    if (error != cudaSuccess) {
        self.last = error;
    }
    return error;
}

cudaError_t record(CUresult result) {
    return record(static_cast<cudaError_t>(result));
}

cudaError_t last_error(bool clear) {
    const cudaError_t error = self.last;
    if (clear) {
        self.last = cudaSuccess;
    }
    return error;
}

CUresult initialize_driver() {
    static constinit std::atomic<bool> done{false};
    if (done.load(std::memory_order_acquire)) {
        return CUDA_SUCCESS;
    }
    const CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS) {
        done.store(true, std::memory_order_release);
    }
    return result;
}

CUresult primary_context(int device, CUcontext* context) {
    CUresult result = initialize_driver();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    int count = 0;
    result = cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (device < 0 || device >= count || device >= kMaxDevices) {
        return count == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_INVALID_DEVICE;
    }
    const std::lock_guard guard(retained_lock);
    if (retained[device] == nullptr) {
        result = cuDevicePrimaryCtxRetain(&retained[device], device);
    }
    *context = retained[device];
    return result;
}

CUresult ensure_context() {
    CUresult result = initialize_driver();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    notice_resets();
    CUcontext context = nullptr;
    result = cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS || context != nullptr) {
        return result;
    }
    result = primary_context(self.device, &context);
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

CUresult current_device(int* device) {
    *device = self.device;
    CUcontext context = nullptr;
    // Before cuInit there is no context, and asking for the device must not create one.
    if (cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) {
        CUdevice found = 0;
        if (cuCtxGetDevice(&found) == CUDA_SUCCESS) {
            *device = found;
        }
    }
    return CUDA_SUCCESS;
}

CUresult select_device(int device) {
    CUcontext context = nullptr;
    CUresult result = primary_context(device, &context);
    if (result == CUDA_SUCCESS) {
        result = cuCtxSetCurrent(context);
    }
    if (result == CUDA_SUCCESS) {
        self.device = device;
        self.generation = resets.load(std::memory_order_acquire);
    }
    return result;
}

CUresult reset_device() {
    CUresult result = initialize_driver();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    int device = 0;
    result = current_device(&device);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    {
        const std::lock_guard guard(retained_lock);
        result = cuDevicePrimaryCtxReset(device);
        if (device < kMaxDevices && retained[device] != nullptr) {
            static_cast<void>(cuDevicePrimaryCtxRelease(device));
            retained[device] = nullptr;
        }
    }
    resets.fetch_add(1, std::memory_order_acq_rel);
    self.generation = resets.load(std::memory_order_acquire);
    self.device = device;
    static_cast<void>(cuCtxSetCurrent(nullptr));
    return result;
}

unsigned reset_generation() {
    return resets.load(std::memory_order_acquire);
}

}  // namespace softcuda::runtime
