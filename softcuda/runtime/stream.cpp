// SPDX-License-Identifier: BSD-3-Clause
// Streams, events, and host functions in streams.
#include "softcuda/runtime/state.hpp"

#include <new>

using softcuda::runtime::record;
using softcuda::runtime::with_context;

namespace {

/// What cudaStreamAddCallback keeps until the driver runs it: the two interfaces differ in the type
/// of the status.
struct Callback {
    cudaStreamCallback_t function;
    void* data;
};

void run_callback(CUstream stream, CUresult status, void* data) {
    const Callback callback = *static_cast<Callback*>(data);
    delete static_cast<Callback*>(data);
    callback.function(stream, static_cast<cudaError_t>(status), callback.data);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
    return cudaStreamCreateWithFlags(pStream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
    return with_context([&] { return cuStreamCreate(pStream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
    return with_context([&] { return cuStreamCreateWithPriority(pStream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return with_context([&] { return cuStreamDestroy(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return with_context([&] { return cuStreamSynchronize(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return with_context([&] { return cuStreamQuery(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    return with_context([&] { return cuStreamWaitEvent(stream, event, flags); });
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
    return with_context([&] { return cuStreamGetFlags(hStream, flags); });
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
    return with_context([&] { return cuStreamGetPriority(hStream, priority); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  enum cudaStreamCaptureStatus* pCaptureStatus) {
    if (pCaptureStatus == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const cudaError_t error = with_context([&] { return cuStreamIsCapturing(stream, &status); });
    *pCaptureStatus = static_cast<cudaStreamCaptureStatus>(status);
    return error;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void* userData, unsigned int flags) {
    if (callback == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    Callback* kept = new (std::nothrow) Callback{callback, userData};
    if (kept == nullptr) {
        return record(cudaErrorMemoryAllocation);
    }
    const cudaError_t error =
        with_context([&] { return cuStreamAddCallback(stream, run_callback, kept, flags); });
    if (error != cudaSuccess) {
        delete kept;
    }
    return error;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
    return with_context([&] { return cuLaunchHostFunc(stream, fn, userData); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return with_context([&] { return cuEventCreate(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return with_context([&] { return cuEventDestroy(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return with_context([&] { return cuEventRecord(event, stream); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    return with_context([&] { return cuEventRecordWithFlags(event, stream, flags); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return with_context([&] { return cuEventQuery(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return with_context([&] { return cuEventSynchronize(event); });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
    return with_context([&] { return cuEventElapsedTime(ms, start, end); });
}
