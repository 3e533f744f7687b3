// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills. With unified addressing the driver finds the direction from the two pointers;
// the kind that a caller states is only checked to be one.
#include "softcuda/runtime/state.hpp"

using softcuda::runtime::address;
using softcuda::runtime::primary_context;
using softcuda::runtime::record;
using softcuda::runtime::with_context;

namespace {

bool valid(cudaMemcpyKind kind) {
    const int value = static_cast<int>(kind);
    return value >= cudaMemcpyHostToHost && value <= cudaMemcpyDefault;
}

CUDA_MEMCPY2D rectangle(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                        size_t height) {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = address(src);
    copy.srcPitch = spitch;
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.dstDevice = address(dst);
    copy.dstPitch = dpitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    return copy;
}

cudaError_t check_rectangle(size_t dpitch, size_t spitch, size_t width, cudaMemcpyKind kind) {
    if (!valid(kind)) {
        return cudaErrorInvalidMemcpyDirection;
    }
    return width > dpitch || width > spitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

CUresult peer_copy(void* dst, int dst_device, const void* src, int src_device, size_t bytes,
                   cudaStream_t stream, bool async) {
    CUcontext to = nullptr;
    CUcontext from = nullptr;
    CUresult result = primary_context(dst_device, &to);
    if (result == CUDA_SUCCESS) {
        result = primary_context(src_device, &from);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    return async ? cuMemcpyPeerAsync(address(dst), to, address(src), from, bytes, stream)
                 : cuMemcpyPeer(address(dst), to, address(src), from, bytes);
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind) {
    if (!valid(kind)) {
        return record(cudaErrorInvalidMemcpyDirection);
    }
    return with_context([&] { return cuMemcpy(address(dst), address(src), count); });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (!valid(kind)) {
        return record(cudaErrorInvalidMemcpyDirection);
    }
    return with_context([&] { return cuMemcpyAsync(address(dst), address(src), count, stream); });
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
    return with_context(
        [&] { return peer_copy(dst, dstDevice, src, srcDevice, count, nullptr, false); });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                size_t count, cudaStream_t stream) {
    return with_context(
        [&] { return peer_copy(dst, dstDevice, src, srcDevice, count, stream, true); });
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind) {
    const cudaError_t fault = check_rectangle(dpitch, spitch, width, kind);
    if (fault != cudaSuccess) {
        return record(fault);
    }
    const CUDA_MEMCPY2D copy = rectangle(dst, dpitch, src, spitch, width, height);
    return with_context(
        [&] { return width == 0 || height == 0 ? CUDA_SUCCESS : cuMemcpy2DUnaligned(&copy); });
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
    const cudaError_t fault = check_rectangle(dpitch, spitch, width, kind);
    if (fault != cudaSuccess) {
        return record(fault);
    }
    const CUDA_MEMCPY2D copy = rectangle(dst, dpitch, src, spitch, width, height);
    return with_context(
        [&] { return width == 0 || height == 0 ? CUDA_SUCCESS : cuMemcpy2DAsync(&copy, stream); });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
    return with_context(
        [&] { return cuMemsetD8(address(devPtr), static_cast<unsigned char>(value), count); });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
    return with_context([&] {
        return cuMemsetD8Async(address(devPtr), static_cast<unsigned char>(value), count, stream);
    });
}

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
    return with_context([&] {
        return cuMemsetD2D8(address(devPtr), pitch, static_cast<unsigned char>(value), width,
                            height);
    });
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    return with_context([&] {
        return cuMemsetD2D8Async(address(devPtr), pitch, static_cast<unsigned char>(value), width,
                                 height, stream);
    });
}
