// SPDX-License-Identifier: BSD-3-Clause
// Last errors, and the names and descriptions of error codes.
#include "softcuda/runtime/state.hpp"

namespace {

using softcuda::runtime::last_error;

/// Name of a code that only the runtime has, or whose name differs from the driver's.
const char* runtime_name(cudaError_t error) {
#define SOFTCUDA_NAME(code) \
    case code:              \
        return #code
    // A caller may pass any number, so the switch is over int and unknown codes fall through.
    switch (static_cast<int>(error)) {
        SOFTCUDA_NAME(cudaSuccess);
        SOFTCUDA_NAME(cudaErrorInvalidValue);
        SOFTCUDA_NAME(cudaErrorMemoryAllocation);
        SOFTCUDA_NAME(cudaErrorInitializationError);
        SOFTCUDA_NAME(cudaErrorCudartUnloading);
        SOFTCUDA_NAME(cudaErrorInvalidConfiguration);
        SOFTCUDA_NAME(cudaErrorInvalidPitchValue);
        SOFTCUDA_NAME(cudaErrorInvalidSymbol);
        SOFTCUDA_NAME(cudaErrorInvalidHostPointer);
        SOFTCUDA_NAME(cudaErrorInvalidDevicePointer);
        SOFTCUDA_NAME(cudaErrorInvalidMemcpyDirection);
        SOFTCUDA_NAME(cudaErrorStubLibrary);
        SOFTCUDA_NAME(cudaErrorInsufficientDriver);
        SOFTCUDA_NAME(cudaErrorDevicesUnavailable);
        SOFTCUDA_NAME(cudaErrorMissingConfiguration);
        SOFTCUDA_NAME(cudaErrorInvalidDeviceFunction);
        SOFTCUDA_NAME(cudaErrorNoDevice);
        SOFTCUDA_NAME(cudaErrorInvalidDevice);
        SOFTCUDA_NAME(cudaErrorInvalidKernelImage);
        SOFTCUDA_NAME(cudaErrorDeviceUninitialized);
        SOFTCUDA_NAME(cudaErrorAlreadyMapped);
        SOFTCUDA_NAME(cudaErrorNoKernelImageForDevice);
        SOFTCUDA_NAME(cudaErrorNotMapped);
        SOFTCUDA_NAME(cudaErrorECCUncorrectable);
        SOFTCUDA_NAME(cudaErrorPeerAccessUnsupported);
        SOFTCUDA_NAME(cudaErrorInvalidPtx);
        SOFTCUDA_NAME(cudaErrorSharedObjectSymbolNotFound);
        SOFTCUDA_NAME(cudaErrorSharedObjectInitFailed);
        SOFTCUDA_NAME(cudaErrorOperatingSystem);
        SOFTCUDA_NAME(cudaErrorInvalidResourceHandle);
        SOFTCUDA_NAME(cudaErrorIllegalState);
        SOFTCUDA_NAME(cudaErrorSymbolNotFound);
        SOFTCUDA_NAME(cudaErrorNotReady);
        SOFTCUDA_NAME(cudaErrorIllegalAddress);
        SOFTCUDA_NAME(cudaErrorLaunchOutOfResources);
        SOFTCUDA_NAME(cudaErrorLaunchTimeout);
        SOFTCUDA_NAME(cudaErrorPeerAccessAlreadyEnabled);
        SOFTCUDA_NAME(cudaErrorPeerAccessNotEnabled);
        SOFTCUDA_NAME(cudaErrorSetOnActiveProcess);
        SOFTCUDA_NAME(cudaErrorContextIsDestroyed);
        SOFTCUDA_NAME(cudaErrorAssert);
        SOFTCUDA_NAME(cudaErrorTooManyPeers);
        SOFTCUDA_NAME(cudaErrorHostMemoryAlreadyRegistered);
        SOFTCUDA_NAME(cudaErrorHostMemoryNotRegistered);
        SOFTCUDA_NAME(cudaErrorIllegalInstruction);
        SOFTCUDA_NAME(cudaErrorMisalignedAddress);
        SOFTCUDA_NAME(cudaErrorLaunchFailure);
        SOFTCUDA_NAME(cudaErrorCooperativeLaunchTooLarge);
        SOFTCUDA_NAME(cudaErrorNotPermitted);
        SOFTCUDA_NAME(cudaErrorNotSupported);
        SOFTCUDA_NAME(cudaErrorSystemNotReady);
        SOFTCUDA_NAME(cudaErrorSystemDriverMismatch);
        SOFTCUDA_NAME(cudaErrorCompatNotSupportedOnDevice);
        SOFTCUDA_NAME(cudaErrorStreamCaptureUnsupported);
        SOFTCUDA_NAME(cudaErrorStreamCaptureInvalidated);
        SOFTCUDA_NAME(cudaErrorStreamCaptureImplicit);
        SOFTCUDA_NAME(cudaErrorCapturedEvent);
        SOFTCUDA_NAME(cudaErrorTimeout);
        SOFTCUDA_NAME(cudaErrorUnknown);
        default:
            return nullptr;
    }
#undef SOFTCUDA_NAME
}

/// Description of a code that the driver does not know.
const char* runtime_text(cudaError_t error) {
    switch (static_cast<int>(error)) {
        case cudaErrorInvalidConfiguration:
            return "the launch configuration is not possible on this device";
        case cudaErrorInvalidPitchValue:
            return "the pitch is smaller than the row or larger than the device allows";
        case cudaErrorInvalidSymbol:
            return "the symbol is not a variable of this program";
        case cudaErrorInvalidDevicePointer:
            return "the pointer is not one of a device";
        case cudaErrorInvalidMemcpyDirection:
            return "the kind of copy is not one of cudaMemcpyKind";
        case cudaErrorInsufficientDriver:
            return "the CUDA driver is older than the runtime";
        case cudaErrorMissingConfiguration:
            return "a kernel was launched without a launch configuration";
        case cudaErrorInvalidDeviceFunction:
            return "the function is not a kernel of this program";
        default:
            return "unknown error code";
    }
}

}  // namespace

cudaError_t cudaGetLastError(void) {
    return last_error(true);
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error(false);
}

const char* cudaGetErrorName(cudaError_t error) {
    const char* name = runtime_name(error);
    if (name != nullptr) {
        return name;
    }
    const char* text = nullptr;
    if (cuGetErrorName(static_cast<CUresult>(error), &text) == CUDA_SUCCESS && text != nullptr) {
        return text;
    }
    return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    if (error == cudaSuccess) {
        return "no error";
    }
    const char* text = nullptr;
    if (cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS && text != nullptr) {
        return text;
    }
    return runtime_text(error);
}
