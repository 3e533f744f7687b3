// SPDX-License-Identifier: BSD-3-Clause
// The CUDA driver API as a table of functions, taken from a libcuda.so.1 that the application
// already loaded.
#pragma once

#include <cuda.h>
#include <link.h>

#include <atomic>

#include "base/result.hpp"

namespace beeline::cuda {

// Every driver function that Beeline calls. Required ones must be there or the driver is not used;
// optional ones may be null.
#define BEELINE_CUDA_REQUIRED(X) \
    X(cuGetErrorName)            \
    X(cuInit)                    \
    X(cuDeviceGetCount)          \
    X(cuDevicePrimaryCtxRetain)  \
    X(cuCtxGetCurrent)           \
    X(cuCtxPushCurrent)          \
    X(cuCtxPopCurrent)           \
    X(cuPointerGetAttributes)    \
    X(cuPointerGetAttribute)     \
    X(cuMemAlloc)                \
    X(cuMemFree)                 \
    X(cuMemHostRegister)         \
    X(cuMemHostUnregister)       \
    X(cuMemcpyAsync)             \
    X(cuStreamCreate)            \
    X(cuStreamDestroy)           \
    X(cuStreamSynchronize)       \
    X(cuStreamWaitEvent)         \
    X(cuEventCreate)             \
    X(cuEventDestroy)            \
    X(cuEventRecord)             \
    X(cuEventQuery)              \
    X(cuEventSynchronize)        \
    X(cuIpcGetMemHandle)         \
    X(cuIpcOpenMemHandle)        \
    X(cuIpcCloseMemHandle)       \
    X(cuModuleLoadData)          \
    X(cuModuleGetFunction)       \
    X(cuModuleUnload)            \
    X(cuLaunchKernel)
#define BEELINE_CUDA_OPTIONAL(X)          \
    X(cuThreadExchangeStreamCaptureMode)  \
    X(cuDeviceGetUuid)                    \
    X(cuDeviceGetAttribute)               \
    X(cuMemGetHandleForAddressRange)      \
    X(cuFlushGPUDirectRDMAWrites)         \
    X(cuMemAddressReserve)                \
    X(cuMemAddressFree)                   \
    X(cuMemMap)                           \
    X(cuMemUnmap)                         \
    X(cuMemSetAccess)                     \
    X(cuMemRelease)                       \
    X(cuMemRetainAllocationHandle)        \
    X(cuMemExportToShareableHandle)       \
    X(cuMemImportFromShareableHandle)     \
    X(cuMemFreeAsync)                     \
    X(cuMemPoolDestroy)                   \
    X(cuMemPoolSetAccess)                 \
    X(cuMemPoolExportToShareableHandle)   \
    X(cuMemPoolImportFromShareableHandle) \
    X(cuMemPoolExportPointer)             \
    X(cuMemPoolImportPointer)             \
    X(cuMemsetD8Async)                    \
    X(cuMemHostGetDevicePointer)          \
    X(cuStreamQuery)                      \
    X(cuStreamIsCapturing)                \
    X(cuPointerSetAttribute)              \
    X(cuCtxGetDevice)                     \
    X(cuCtxGetFlags)                      \
    X(cuCtxSetFlags)                      \
    X(cuDevicePrimaryCtxGetState)         \
    X(cuDevicePrimaryCtxRelease)

/// The functions. One per process; the library stays loaded until the process ends.
struct Driver {
#define BEELINE_CUDA_FIELD(name) decltype(&::name) name = nullptr;
    BEELINE_CUDA_REQUIRED(BEELINE_CUDA_FIELD)
    BEELINE_CUDA_OPTIONAL(BEELINE_CUDA_FIELD)
#undef BEELINE_CUDA_FIELD

    /// The driver if this process has loaded libcuda.so.1 (by linking or dlopen, at any time), else
    /// null. Never loads or initialises anything. Cheap enough for every message: one load when
    /// nothing changed.
    static const Driver* find() noexcept;

 private:
    static const Driver* look() noexcept;
    static std::atomic<const Driver*> found_;
    /// The newest shared object of the process when we last looked, held so that it cannot be
    /// unmapped: objects loaded later are appended behind it, so one pointer tells whether there is
    /// anything new.
    static std::atomic<const link_map*> newest_;

 public:
    /// The error's name, for example "CUDA_ERROR_OUT_OF_MEMORY"; never null.
    const char* name_of(CUresult result) const noexcept;
};

inline const Driver* Driver::find() noexcept {
    if (const Driver* driver = found_.load(std::memory_order_acquire); driver != nullptr) {
        return driver;
    }
    const link_map* last = newest_.load(std::memory_order_acquire);
    return last != nullptr && last->l_next == nullptr ? nullptr : look();
}

/// True when the error only says that CUDA is not up yet or is already gone (not initialised,
/// deinitialised, context destroyed): a reason to do nothing, not to complain.
bool is_gone(CUresult result) noexcept;

/// True for errors of work that ran on the device earlier, such as a kernel of the application: the
/// driver gives them to every later call, whoever makes it.
bool is_asynchronous(CUresult result) noexcept;

/// Logs a failed driver call once per call site key: the call, the error's name, the pointer, what
/// happens next.
void report_failure(const Driver& driver, const char* call, CUresult result, const void* pointer,
                    const char* consequence) noexcept;

}  // namespace beeline::cuda
