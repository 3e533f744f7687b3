// SPDX-License-Identifier: BSD-3-Clause
// Devices: choice, reset, synchronisation, attributes, and access between peers.
#include "softcuda/runtime/state.hpp"

using softcuda::runtime::primary_context;
using softcuda::runtime::record;
using softcuda::runtime::with_context;
using softcuda::runtime::with_driver;

cudaError_t cudaGetDeviceCount(int* count) {
    if (count == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    *count = 0;
    return with_driver([&] {
        const CUresult result = cuDeviceGetCount(count);
        return result == CUDA_SUCCESS && *count == 0 ? CUDA_ERROR_NO_DEVICE : result;
    });
}

cudaError_t cudaSetDevice(int device) {
    return record(softcuda::runtime::select_device(device));
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
    if (flags > 1) {
        return record(cudaErrorInvalidValue);
    }
    return with_driver([&]() -> CUresult {
        if (flags == 1) {  // cudaInitDeviceFlagsAreValid
            const CUresult result = cuDevicePrimaryCtxSetFlags(device, deviceFlags);
            if (result != CUDA_SUCCESS) {
                return result;
            }
        }
        CUcontext context = nullptr;
        return primary_context(device, &context);
    });
}

cudaError_t cudaGetDevice(int* device) {
    if (device == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return record(softcuda::runtime::current_device(device));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
    return with_driver([&] {
        int device = 0;
        const CUresult result = softcuda::runtime::current_device(&device);
        return result == CUDA_SUCCESS ? cuDevicePrimaryCtxSetFlags(device, flags) : result;
    });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
    if (flags == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return with_driver([&] {
        int device = 0;
        int active = 0;
        const CUresult result = softcuda::runtime::current_device(&device);
        return result == CUDA_SUCCESS ? cuDevicePrimaryCtxGetState(device, flags, &active) : result;
    });
}

cudaError_t cudaDeviceReset(void) {
    return record(softcuda::runtime::reset_device());
}

cudaError_t cudaDeviceSynchronize(void) {
    return with_context([] { return cuCtxSynchronize(); });
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr, int device) {
    // The two enumerations number the attributes alike.
    return with_driver(
        [&] { return cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attr), device); });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
    return with_driver([&] { return cuDeviceGetPCIBusId(pciBusId, len, device); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
    return with_driver([&] { return cuDeviceGetByPCIBusId(device, pciBusId); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
    return with_context(
        [&] { return cuCtxGetStreamPriorityRange(leastPriority, greatestPriority); });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
    return with_driver([&] { return cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice); });
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
    return with_context([&] {
        CUcontext peer = nullptr;
        const CUresult result = primary_context(peerDevice, &peer);
        if (result != CUDA_SUCCESS) {
            return result;
        }
        CUcontext current = nullptr;
        static_cast<void>(cuCtxGetCurrent(&current));
        // The driver calls a context that is its own peer an invalid context; the runtime, which
        // speaks of devices, an invalid device.
        return peer == current ? CUDA_ERROR_INVALID_DEVICE : cuCtxEnablePeerAccess(peer, flags);
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
    return with_context([&] {
        CUcontext peer = nullptr;
        const CUresult result = primary_context(peerDevice, &peer);
        return result == CUDA_SUCCESS ? cuCtxDisablePeerAccess(peer) : result;
    });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attr, int srcDevice,
                                      int dstDevice) {
    return with_driver([&] {
        return cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attr), srcDevice,
                                       dstDevice);
    });
}
