// SPDX-License-Identifier: BSD-3-Clause
// Versions, and the driver's entry points by name.
#include "softcuda/runtime/state.hpp"

using softcuda::runtime::record;
using softcuda::runtime::with_driver;

cudaError_t cudaDriverGetVersion(int* driverVersion) {
    if (driverVersion == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return record(cuDriverGetVersion(driverVersion));
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
    if (runtimeVersion == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult* driverStatus) {
    return cudaGetDriverEntryPointByVersion(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr,
                                             unsigned int cudaVersion, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult* driverStatus) {
    if (symbol == nullptr || funcPtr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    *funcPtr = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const cudaError_t error = with_driver([&]() -> CUresult {
        const CUresult result =
            cuGetProcAddress(symbol, funcPtr, static_cast<int>(cudaVersion), flags, &status);
        // A caller that asks for the status is told there, and the call itself succeeds.
        return result == CUDA_ERROR_NOT_FOUND && driverStatus != nullptr ? CUDA_SUCCESS : result;
    });
    if (driverStatus != nullptr) {
        *driverStatus = static_cast<cudaDriverEntryPointQueryResult>(status);
    }
    return error;
}
