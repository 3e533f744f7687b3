// SPDX-License-Identifier: BSD-3-Clause
// The driver under test, found at run time: whichever libcuda.so.1 the loader finds, so one binary
// tests SoftCUDA and a real driver alike.
#pragma once

#include <cuda.h>

namespace conformance {

/// Ends the running case as skipped because the driver lacks `name`.
[[noreturn]] void skip_missing(const char* name);

template <class Function>
struct Entry;

/// One entry point; calling one that the driver lacks skips the case.
template <class... Arguments>
struct Entry<CUresult (*)(Arguments...)> {
    CUresult (*function)(Arguments...) = nullptr;
    const char* name = "";

    CUresult operator()(Arguments... arguments) const {
        if (function == nullptr) {
            skip_missing(name);
        }
        return function(arguments...);
    }
};

#define CONFORMANCE_ENTRIES(X)                                                                                                      \
    X(cuInit)                                                                                                                       \
    X(cuDriverGetVersion)                                                                                                           \
    X(cuGetErrorName) X(cuGetErrorString) X(cuGetProcAddress) X(cuDeviceGet) X(cuDeviceGetCount) X(                                 \
        cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem) X(cuDeviceGetAttribute) X(cuDeviceGetByPCIBusId)                    \
        X(cuDeviceGetPCIBusId) X(cuDeviceCanAccessPeer) X(cuDeviceGetDefaultMemPool) X(                                             \
            cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxReset)                                       \
            X(cuDevicePrimaryCtxGetState) X(cuCtxCreate_v2) X(cuCtxDestroy) X(cuCtxPushCurrent) X(                                  \
                cuCtxPopCurrent) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxGetDevice)                                            \
                X(cuCtxSynchronize) X(cuCtxGetStreamPriorityRange) X(cuCtxEnablePeerAccess) X(                                      \
                    cuCtxDisablePeerAccess) X(cuMemGetInfo) X(cuMemAlloc) X(cuMemAllocPitch) X(cuMemFree)                           \
                    X(cuMemGetAddressRange) X(cuMemGetHandleForAddressRange) X(cuPointerGetAttribute) X(                            \
                        cuPointerGetAttributes) X(cuPointerSetAttribute) X(cuMemFreeHost) X(cuMemHostAlloc)                         \
                        X(cuMemHostGetDevicePointer) X(cuMemHostGetFlags) X(cuMemHostRegister) X(                                   \
                            cuMemHostUnregister) X(cuMemAllocManaged) X(cuMemAdvise) X(cuMemPrefetchAsync)                          \
                            X(cuMemcpy) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoD) X(                                          \
                                cuMemcpyPeer) X(cuMemcpy2D) X(cuMemcpyAsync) X(cuMemcpyHtoDAsync)                                   \
                                X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy2DAsync) X(                                     \
                                    cuMemsetD8) X(cuMemsetD16) X(cuMemsetD32) X(cuMemsetD2D8)                                       \
                                    X(cuMemsetD8Async) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(                                \
                                        cuIpcCloseMemHandle) X(cuIpcGetEventHandle) X(cuIpcOpenEventHandle)                         \
                                        X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(                                \
                                            cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)                               \
                                            X(cuMemGetAccess) X(cuMemExportToShareableHandle) X(                                    \
                                                cuMemImportFromShareableHandle) X(cuMemGetAllocationGranularity)                    \
                                                X(cuMemRetainAllocationHandle) X(cuMemAllocAsync) X(                                \
                                                    cuMemAllocFromPoolAsync) X(cuMemFreeAsync)                                      \
                                                    X(cuMemPoolCreate) X(cuMemPoolDestroy) X(                                       \
                                                        cuMemPoolTrimTo) X(cuMemPoolGetAttribute)                                   \
                                                        X(cuMemPoolSetAttribute) X(                                                 \
                                                            cuMemPoolExportToShareableHandle) X(cuMemPoolImportFromShareableHandle) \
                                                            X(cuMemPoolExportPointer) X(                                            \
                                                                cuMemPoolImportPointer) X(cuStreamCreate)                           \
                                                                X(cuStreamCreateWithPriority) X(                                    \
                                                                    cuStreamDestroy) X(cuStreamQuery)                               \
                                                                    X(cuStreamSynchronize) X(                                       \
                                                                        cuStreamWaitEvent) X(cuStreamGetFlags)                      \
                                                                        X(cuStreamGetPriority) X(cuStreamGetCtx) X(                 \
                                                                            cuStreamBeginCapture) X(cuStreamEndCapture)             \
                                                                            X(cuStreamIsCapturing) X(                               \
                                                                                cuStreamWaitValue32) X(cuStreamWriteValue32)        \
                                                                                X(cuThreadExchangeStreamCaptureMode) X(             \
                                                                                    cuLaunchHostFunc)                               \
                                                                                    X(cuEventCreate) X(                             \
                                                                                        cuEventDestroy)                             \
                                                                                        X(cuEventRecord) X(                         \
                                                                                            cuEventQuery)                           \
                                                                                            X(cuEventSynchronize)                   \
                                                                                                X(cuEventElapsedTime)               \
                                                                                                    X(cuModuleLoadData)

struct Driver {
#define CONFORMANCE_MEMBER(entry) Entry<decltype(&::entry)> entry;
    CONFORMANCE_ENTRIES(CONFORMANCE_MEMBER)
#undef CONFORMANCE_MEMBER
};

/// The table; empty until load_driver.
extern Driver cu;

/// Loads libcuda.so.1 and fills the table. Returns null, or the loader's message.
const char* load_driver();

}  // namespace conformance
