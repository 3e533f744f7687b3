// SPDX-License-Identifier: BSD-3-Clause
// Allocation of device, managed and page-locked memory, and advice on managed memory.
#include "softcuda/runtime/state.hpp"

using softcuda::runtime::address;
using softcuda::runtime::address_slot;
using softcuda::runtime::record;
using softcuda::runtime::with_context;

namespace {

constexpr size_t kPitchAlignment = 512;

CUmemLocation driver_location(const cudaMemLocation& location) {
    CUmemLocation result = {};
    result.type = static_cast<CUmemLocationType>(location.type);
    result.id = location.id;
    return result;
}

#if CUDART_VERSION < 13000
/// CUDA 12 names a place by ordinal, with cudaCpuDeviceId for the host.
cudaMemLocation location_of(int device) {
    cudaMemLocation result = {};
    result.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    result.id = device == cudaCpuDeviceId ? 0 : device;
    return result;
}
#endif

cudaError_t prefetch(const void* pointer, size_t bytes, const cudaMemLocation& location,
                     unsigned flags, cudaStream_t stream) {
    return with_context([&] {
        return cuMemPrefetchAsync(address(pointer), bytes, driver_location(location), flags,
                                  stream);
    });
}

cudaError_t advise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                   const cudaMemLocation& location) {
    return with_context([&] {
        return cuMemAdvise(address(pointer), bytes, static_cast<CUmem_advise>(advice),
                           driver_location(location));
    });
}

}  // namespace

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    return with_context([&] { return cuMemGetInfo(free, total); });
}

cudaError_t cudaMalloc(void** devPtr, size_t size) {
    if (devPtr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    *devPtr = nullptr;
    return with_context([&] {
        // Zero bytes are an error to the driver, a null pointer to the runtime.
        return size == 0 ? CUDA_SUCCESS : cuMemAlloc(address_slot(devPtr), size);
    });
}

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
    if (devPtr == nullptr || pitch == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    if (width > SIZE_MAX - kPitchAlignment) {
        return record(cudaErrorMemoryAllocation);
    }
    *devPtr = nullptr;
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    size_t bytes = 0;
    if (__builtin_mul_overflow(*pitch, height, &bytes)) {
        return record(cudaErrorMemoryAllocation);
    }
    return cudaMalloc(devPtr, bytes);
}

cudaError_t cudaFree(void* devPtr) {
    // cudaFree(NULL) is a customary way to create the context, so it goes all the way down.
    return with_context(
        [&] { return devPtr == nullptr ? CUDA_SUCCESS : cuMemFree(address(devPtr)); });
}

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
    if (devPtr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return with_context([&] { return cuMemAllocManaged(address_slot(devPtr), size, flags); });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
    return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
    if (pHost == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    *pHost = nullptr;
    return with_context([&] {
        // Every page-locked allocation of the runtime is usable from all contexts.
        return size == 0 ? CUDA_SUCCESS
                         : cuMemHostAlloc(pHost, size, flags | CU_MEMHOSTALLOC_PORTABLE);
    });
}

cudaError_t cudaFreeHost(void* ptr) {
    return with_context([&] { return ptr == nullptr ? CUDA_SUCCESS : cuMemFreeHost(ptr); });
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
    return with_context(
        [&] { return cuMemHostRegister(ptr, size, flags | CU_MEMHOSTREGISTER_PORTABLE); });
}

cudaError_t cudaHostUnregister(void* ptr) {
    return with_context([&] { return cuMemHostUnregister(ptr); });
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
    if (pDevice == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return with_context(
        [&] { return cuMemHostGetDevicePointer(address_slot(pDevice), pHost, flags); });
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
    return with_context([&] { return cuMemHostGetFlags(pFlags, pHost); });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
    return prefetch(devPtr, count, location, flags, stream);
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
    return advise(devPtr, count, advice, location);
}
#else
cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, int dstDevice,
                                 cudaStream_t stream) {
    return prefetch(devPtr, count, location_of(dstDevice), 0, stream);
}

cudaError_t cudaMemPrefetchAsync_v2(const void* devPtr, size_t count, cudaMemLocation location,
                                    unsigned int flags, cudaStream_t stream) {
    return prefetch(devPtr, count, location, flags, stream);
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice, int device) {
    return advise(devPtr, count, advice, location_of(device));
}

cudaError_t cudaMemAdvise_v2(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
    return advise(devPtr, count, advice, location);
}
#endif
