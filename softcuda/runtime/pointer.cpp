// SPDX-License-Identifier: BSD-3-Clause
// What a pointer is, and memory and events shared between processes.
#include "softcuda/runtime/state.hpp"

#include <cstring>

using softcuda::runtime::address;
using softcuda::runtime::address_slot;
using softcuda::runtime::record;
using softcuda::runtime::with_context;

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr) {
    if (attributes == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    unsigned type = 0;
    unsigned managed = 0;
    int device = cudaInvalidDeviceId;
    void* on_device = nullptr;
    void* on_host = nullptr;
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* values[] = {&type, &managed, &device, &on_device, &on_host};
    const cudaError_t error =
        with_context([&] { return cuPointerGetAttributes(5, wanted, values, address(ptr)); });
    if (error != cudaSuccess) {
        return error;
    }
    std::memset(attributes, 0, sizeof *attributes);
    attributes->device = device;
    attributes->devicePointer = on_device;
    attributes->hostPointer = on_host;
    if (managed != 0) {
        attributes->type = cudaMemoryTypeManaged;
        attributes->devicePointer = on_device != nullptr ? on_device : const_cast<void*>(ptr);
        attributes->hostPointer = attributes->devicePointer;
    } else if (type == CU_MEMORYTYPE_DEVICE) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->hostPointer = nullptr;
    } else if (type == CU_MEMORYTYPE_HOST) {
        attributes->type = cudaMemoryTypeHost;
    } else {
        // The driver leaves zeroes for memory it does not know; device 0 would be misleading.
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = cudaInvalidDeviceId;
        attributes->devicePointer = nullptr;
        attributes->hostPointer = const_cast<void*>(ptr);
    }
    return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
    static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
    return with_context([&] {
        return cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle), address(devPtr));
    });
}

cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
    if (devPtr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    CUipcMemHandle copy;
    std::memcpy(&copy, &handle, sizeof copy);
    return with_context([&] { return cuIpcOpenMemHandle(address_slot(devPtr), copy, flags); });
}

cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
    return with_context([&] { return cuIpcCloseMemHandle(address(devPtr)); });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
    static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle));
    return with_context(
        [&] { return cuIpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(handle), event); });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
    CUipcEventHandle copy;
    std::memcpy(&copy, &handle, sizeof copy);
    return with_context([&] { return cuIpcOpenEventHandle(event, copy); });
}
