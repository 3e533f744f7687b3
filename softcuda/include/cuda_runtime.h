// SPDX-License-Identifier: BSD-3-Clause
// The CUDA runtime API with the typed C++ forms of its allocation functions.
#pragma once
#pragma GCC system_header

#include "cuda_runtime_api.h"

#ifdef __cplusplus
template <class T>
inline cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}

template <class T>
inline cudaError_t cudaMallocManaged(T** pointer, size_t bytes,
                                     unsigned int flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags);
}

template <class T>
inline cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int flags = 0) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}

template <class T>
inline cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int flags) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}

template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** pointer, void* host, unsigned int flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void**>(pointer), host, flags);
}

template <class T>
inline cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
#endif
