// SPDX-License-Identifier: BSD-3-Clause
// What every function of the software CUDA runtime shares: the thread's device, its last error, and
// the rule that the first call makes a context current.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace softcuda::runtime {

/// Keeps a failed result as the thread's last error and hands it back. The runtime's error codes
/// have the driver's values wherever both have a name for the condition.
cudaError_t record(cudaError_t error);

/// The same for a driver result.
cudaError_t record(CUresult result);

/// Takes the thread's last error; `clear` resets it to success.
cudaError_t last_error(bool clear);

/// Initialises the driver, once a process. A failure is not remembered: the next call tries again.
CUresult initialize_driver();

/// Makes sure that the calling thread has a current context: the one it has, or the primary context
/// of its device (device 0 unless cudaSetDevice chose another), created on first need.
CUresult ensure_context();

/// The device of the calling thread: its current context's, else the one cudaSetDevice chose.
CUresult current_device(int* device);

/// Makes `device` the thread's and its primary context current.
CUresult select_device(int device);

/// Destroys the primary context of the thread's device and forgets it in every thread.
CUresult reset_device();

/// Number of cudaDeviceReset calls so far; whoever caches handles of a context compares it.
unsigned reset_generation();

/// Retains (once a process) and returns the primary context of `device`.
CUresult primary_context(int device, CUcontext* context);

/// Runs `call` (returning CUresult) with a current context and records its result.
template <class Call>
cudaError_t with_context(Call&& call) {
    const CUresult ready = ensure_context();
    return record(ready != CUDA_SUCCESS ? ready : call());
}

/// Runs `call` (returning CUresult) with the driver initialised but no context needed.
template <class Call>
cudaError_t with_driver(Call&& call) {
    const CUresult ready = initialize_driver();
    return record(ready != CUDA_SUCCESS ? ready : call());
}

inline CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

inline CUdeviceptr* address_slot(void** pointer) {
    return reinterpret_cast<CUdeviceptr*>(pointer);
}

}  // namespace softcuda::runtime
