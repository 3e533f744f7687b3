// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation and memory pools.
#include "softcuda/runtime/state.hpp"

#include <cstring>

using softcuda::runtime::address;
using softcuda::runtime::address_slot;
using softcuda::runtime::record;
using softcuda::runtime::with_context;
using softcuda::runtime::with_driver;

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
    if (devPtr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return with_context([&] { return cuMemAllocAsync(address_slot(devPtr), size, hStream); });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
    return with_context([&] { return cuMemFreeAsync(address(devPtr), hStream); });
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                    cudaStream_t stream) {
    if (ptr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return with_context(
        [&] { return cuMemAllocFromPoolAsync(address_slot(ptr), size, memPool, stream); });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const struct cudaMemPoolProps* poolProps) {
    if (memPool == nullptr || poolProps == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
    CUmemPoolProps properties = {};
    std::memcpy(&properties, poolProps, sizeof properties);
    return with_context([&] { return cuMemPoolCreate(memPool, &properties); });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
    return with_context([&] { return cuMemPoolDestroy(memPool); });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
    return with_context([&] { return cuMemPoolTrimTo(memPool, minBytesToKeep); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void* value) {
    return with_context([&] {
        return cuMemPoolSetAttribute(memPool, static_cast<CUmemPool_attribute>(attr), value);
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void* value) {
    return with_context([&] {
        return cuMemPoolGetAttribute(memPool, static_cast<CUmemPool_attribute>(attr), value);
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
    return with_driver([&] { return cuDeviceGetDefaultMemPool(memPool, device); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
    return with_driver([&] { return cuDeviceGetMemPool(memPool, device); });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    return with_driver([&] { return cuDeviceSetMemPool(device, memPool); });
}
