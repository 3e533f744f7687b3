// SPDX-License-Identifier: BSD-3-Clause
// The functions of the CUDA runtime API that SoftCUDA's libcudart carries, for C and C++.
//
// Written from the published interface; a program compiled with this header also runs with NVIDIA's
// own libcudart of the same major version. What each function does, its units and its errors are
// described in NVIDIA's "CUDA Runtime API" manual; where SoftCUDA does less, softcuda/runtime says.
#pragma once
#pragma GCC system_header

#include "driver_types.h"

#define CUDARTAPI
#define SOFTCUDA_RT_API __attribute__((visibility("default")))
#ifdef __cplusplus
#define SOFTCUDA_RT_DEFAULT(value) = value
extern "C" {
#else
#define SOFTCUDA_RT_DEFAULT(value)
#endif

/* Before CUDA 13 the plain names of these are the older revision's symbols. */
#if CUDART_VERSION < 13000
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#endif

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define cudaMemcpy cudaMemcpy_ptds
#define cudaMemset cudaMemset_ptds
#define cudaMemcpy2D cudaMemcpy2D_ptds
#define cudaMemset2D cudaMemset2D_ptds
#define cudaMemcpyAsync cudaMemcpyAsync_ptsz
#define cudaMemsetAsync cudaMemsetAsync_ptsz
#define cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz
#define cudaMemset2DAsync cudaMemset2DAsync_ptsz
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz
#define cudaMallocAsync cudaMallocAsync_ptsz
#define cudaFreeAsync cudaFreeAsync_ptsz
#define cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz
#define cudaStreamSynchronize cudaStreamSynchronize_ptsz
#define cudaStreamQuery cudaStreamQuery_ptsz
#define cudaStreamWaitEvent cudaStreamWaitEvent_ptsz
#define cudaEventRecord cudaEventRecord_ptsz
#define cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz
#define cudaLaunchHostFunc cudaLaunchHostFunc_ptsz
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#define cudaLaunchKernelExC cudaLaunchKernelExC_ptsz
#endif

/* Versions and errors. */
SOFTCUDA_RT_API cudaError_t cudaDriverGetVersion(int* driverVersion);
SOFTCUDA_RT_API cudaError_t cudaRuntimeGetVersion(int* runtimeVersion);
SOFTCUDA_RT_API cudaError_t cudaGetLastError(void);
SOFTCUDA_RT_API cudaError_t cudaPeekAtLastError(void);
SOFTCUDA_RT_API const char* cudaGetErrorName(cudaError_t error);
SOFTCUDA_RT_API const char* cudaGetErrorString(cudaError_t error);
SOFTCUDA_RT_API cudaError_t
cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult* driverStatus SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaGetDriverEntryPointByVersion(
    const char* symbol, void** funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult* driverStatus SOFTCUDA_RT_DEFAULT(0));

/* Devices. */
SOFTCUDA_RT_API cudaError_t cudaGetDeviceCount(int* count);
SOFTCUDA_RT_API cudaError_t cudaSetDevice(int device);
SOFTCUDA_RT_API cudaError_t cudaInitDevice(int device, unsigned int deviceFlags,
                                           unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaGetDevice(int* device);
SOFTCUDA_RT_API cudaError_t cudaSetDeviceFlags(unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaGetDeviceFlags(unsigned int* flags);
SOFTCUDA_RT_API cudaError_t cudaDeviceReset(void);
SOFTCUDA_RT_API cudaError_t cudaDeviceSynchronize(void);
SOFTCUDA_RT_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr,
                                                   int device);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority,
                                                             int* greatestPriority);
SOFTCUDA_RT_API cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice);
SOFTCUDA_RT_API cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaDeviceDisablePeerAccess(int peerDevice);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attr,
                                                      int srcDevice, int dstDevice);

/* Memory. */
SOFTCUDA_RT_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
SOFTCUDA_RT_API cudaError_t cudaMalloc(void** devPtr, size_t size);
SOFTCUDA_RT_API cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width,
                                            size_t height);
SOFTCUDA_RT_API cudaError_t cudaFree(void* devPtr);
SOFTCUDA_RT_API cudaError_t cudaMallocManaged(
    void** devPtr, size_t size, unsigned int flags SOFTCUDA_RT_DEFAULT(cudaMemAttachGlobal));
SOFTCUDA_RT_API cudaError_t cudaMallocHost(void** ptr, size_t size);
SOFTCUDA_RT_API cudaError_t cudaFreeHost(void* ptr);
SOFTCUDA_RT_API cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaHostUnregister(void* ptr);
SOFTCUDA_RT_API cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost,
                                                     unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost);
SOFTCUDA_RT_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes,
                                                     const void* ptr);
#if CUDART_VERSION >= 13000
SOFTCUDA_RT_API cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count,
                                                 struct cudaMemLocation location,
                                                 unsigned int flags,
                                                 cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemAdvise(const void* devPtr, size_t count,
                                          enum cudaMemoryAdvise advice,
                                          struct cudaMemLocation location);
#else
SOFTCUDA_RT_API cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, int dstDevice,
                                                 cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemPrefetchAsync_v2(const void* devPtr, size_t count,
                                                    struct cudaMemLocation location,
                                                    unsigned int flags,
                                                    cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemAdvise(const void* devPtr, size_t count,
                                          enum cudaMemoryAdvise advice, int device);
SOFTCUDA_RT_API cudaError_t cudaMemAdvise_v2(const void* devPtr, size_t count,
                                             enum cudaMemoryAdvise advice,
                                             struct cudaMemLocation location);
#endif

/* Stream-ordered allocation. */
SOFTCUDA_RT_API cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream);
SOFTCUDA_RT_API cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream);
SOFTCUDA_RT_API cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                                    cudaStream_t stream);
SOFTCUDA_RT_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool,
                                              const struct cudaMemPoolProps* poolProps);
SOFTCUDA_RT_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool);
SOFTCUDA_RT_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep);
SOFTCUDA_RT_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool,
                                                    enum cudaMemPoolAttr attr, void* value);
SOFTCUDA_RT_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool,
                                                    enum cudaMemPoolAttr attr, void* value);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device);
SOFTCUDA_RT_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device);
SOFTCUDA_RT_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool);

/* Copies and fills. */
SOFTCUDA_RT_API cudaError_t cudaMemcpy(void* dst, const void* src, size_t count,
                                       enum cudaMemcpyKind kind);
SOFTCUDA_RT_API cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count,
                                            enum cudaMemcpyKind kind,
                                            cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice,
                                           size_t count);
SOFTCUDA_RT_API cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src,
                                                int srcDevice, size_t count,
                                                cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch,
                                         size_t width, size_t height, enum cudaMemcpyKind kind);
SOFTCUDA_RT_API cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src,
                                              size_t spitch, size_t width, size_t height,
                                              enum cudaMemcpyKind kind,
                                              cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemset(void* devPtr, int value, size_t count);
SOFTCUDA_RT_API cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count,
                                            cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width,
                                         size_t height);
SOFTCUDA_RT_API cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width,
                                              size_t height,
                                              cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));

/* Streams and events. */
SOFTCUDA_RT_API cudaError_t cudaStreamCreate(cudaStream_t* pStream);
SOFTCUDA_RT_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags,
                                                         int priority);
SOFTCUDA_RT_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
SOFTCUDA_RT_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
SOFTCUDA_RT_API cudaError_t cudaStreamQuery(cudaStream_t stream);
SOFTCUDA_RT_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                unsigned int flags SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags);
SOFTCUDA_RT_API cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority);
SOFTCUDA_RT_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                  enum cudaStreamCaptureStatus* pCaptureStatus);
SOFTCUDA_RT_API cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                                  cudaStreamCallback_t callback, void* userData,
                                                  unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                                               void* userData);
SOFTCUDA_RT_API cudaError_t cudaEventCreate(cudaEvent_t* event);
SOFTCUDA_RT_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaEventDestroy(cudaEvent_t event);
SOFTCUDA_RT_API cudaError_t cudaEventRecord(cudaEvent_t event,
                                            cudaStream_t stream SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                                     cudaStream_t stream SOFTCUDA_RT_DEFAULT(0),
                                                     unsigned int flags SOFTCUDA_RT_DEFAULT(0));
SOFTCUDA_RT_API cudaError_t cudaEventQuery(cudaEvent_t event);
SOFTCUDA_RT_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
SOFTCUDA_RT_API cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end);

/* Sharing between processes. */
SOFTCUDA_RT_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr);
SOFTCUDA_RT_API cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle,
                                                 unsigned int flags);
SOFTCUDA_RT_API cudaError_t cudaIpcCloseMemHandle(void* devPtr);
SOFTCUDA_RT_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
SOFTCUDA_RT_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);

/* Kernels. */
SOFTCUDA_RT_API cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim,
                                             void** args, size_t sharedMem, cudaStream_t stream);
SOFTCUDA_RT_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func,
                                                void** args);
SOFTCUDA_RT_API cudaError_t cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr);
SOFTCUDA_RT_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr);

#ifdef __cplusplus
}
#endif
