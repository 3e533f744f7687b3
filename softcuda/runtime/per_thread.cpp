// SPDX-License-Identifier: BSD-3-Clause
// The entry points of programs compiled with a default stream for each thread: the null stream
// stands for cudaStreamPerThread there.
#include "softcuda/runtime/nvcc_abi.hpp"
#include "softcuda/runtime/state.hpp"

namespace {

cudaStream_t own(cudaStream_t stream) {
    return stream == nullptr ? cudaStreamPerThread : stream;
}

/// Ends a synchronous call that was made of an asynchronous one.
cudaError_t finish(cudaError_t error) {
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

}  // namespace

// Arguments as in the declaration, their names, and the same names with own(stream) for the stream.
#define SOFTCUDA_PER_THREAD(name, parameters, arguments)           \
    extern "C" SOFTCUDA_RT_API cudaError_t name##_ptsz parameters; \
    cudaError_t name##_ptsz parameters {                           \
        return name arguments;                                     \
    }
#define SOFTCUDA_PER_THREAD_SYNC(name, parameters, arguments)      \
    extern "C" SOFTCUDA_RT_API cudaError_t name##_ptds parameters; \
    cudaError_t name##_ptds parameters {                           \
        return finish(name##Async arguments);                      \
    }

SOFTCUDA_PER_THREAD_SYNC(cudaMemcpy,
                         (void* dst, const void* src, size_t count, cudaMemcpyKind kind),
                         (dst, src, count, kind, cudaStreamPerThread))
SOFTCUDA_PER_THREAD_SYNC(cudaMemset, (void* pointer, int value, size_t count),
                         (pointer, value, count, cudaStreamPerThread))
SOFTCUDA_PER_THREAD_SYNC(cudaMemcpy2D,
                         (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                          size_t height, cudaMemcpyKind kind),
                         (dst, dpitch, src, spitch, width, height, kind, cudaStreamPerThread))
SOFTCUDA_PER_THREAD_SYNC(cudaMemset2D,
                         (void* pointer, size_t pitch, int value, size_t width, size_t height),
                         (pointer, pitch, value, width, height, cudaStreamPerThread))

SOFTCUDA_PER_THREAD(cudaMemcpyAsync,
                    (void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                     cudaStream_t stream),
                    (dst, src, count, kind, own(stream)))
SOFTCUDA_PER_THREAD(cudaMemsetAsync, (void* pointer, int value, size_t count, cudaStream_t stream),
                    (pointer, value, count, own(stream)))
SOFTCUDA_PER_THREAD(cudaMemcpy2DAsync,
                    (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                     size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                    (dst, dpitch, src, spitch, width, height, kind, own(stream)))
SOFTCUDA_PER_THREAD(cudaMemset2DAsync,
                    (void* pointer, size_t pitch, int value, size_t width, size_t height,
                     cudaStream_t stream),
                    (pointer, pitch, value, width, height, own(stream)))
SOFTCUDA_PER_THREAD(cudaMallocAsync, (void** pointer, size_t size, cudaStream_t stream),
                    (pointer, size, own(stream)))
SOFTCUDA_PER_THREAD(cudaFreeAsync, (void* pointer, cudaStream_t stream), (pointer, own(stream)))
SOFTCUDA_PER_THREAD(cudaMallocFromPoolAsync,
                    (void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream),
                    (pointer, size, pool, own(stream)))
SOFTCUDA_PER_THREAD(cudaStreamSynchronize, (cudaStream_t stream), (own(stream)))
SOFTCUDA_PER_THREAD(cudaStreamQuery, (cudaStream_t stream), (own(stream)))
SOFTCUDA_PER_THREAD(cudaStreamWaitEvent,
                    (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
                    (own(stream), event, flags))
SOFTCUDA_PER_THREAD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, own(stream)))
SOFTCUDA_PER_THREAD(cudaEventRecordWithFlags,
                    (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
                    (event, own(stream), flags))
SOFTCUDA_PER_THREAD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
                    (own(stream), function, data))
SOFTCUDA_PER_THREAD(cudaLaunchKernel,
                    (const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                     cudaStream_t stream),
                    (function, grid, block, args, shared, own(stream)))
#if CUDART_VERSION >= 13000
SOFTCUDA_PER_THREAD(cudaMemPrefetchAsync,
                    (const void* pointer, size_t count, cudaMemLocation location,
                     unsigned int flags, cudaStream_t stream),
                    (pointer, count, location, flags, own(stream)))
#else
SOFTCUDA_PER_THREAD(cudaMemPrefetchAsync,
                    (const void* pointer, size_t count, int device, cudaStream_t stream),
                    (pointer, count, device, own(stream)))
#endif

extern "C" SOFTCUDA_RT_API cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config,
                                                                const void* function, void** args);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                     void** args) {
    if (config == nullptr) {
        return softcuda::runtime::record(cudaErrorInvalidValue);
    }
    cudaLaunchConfig_t copy = *config;
    copy.stream = own(config->stream);
    return cudaLaunchKernelExC(&copy, function, args);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                    size_t shared, cudaStream_t stream) {
    return __cudaLaunchKernel(kernel, grid, block, args, shared, own(stream));
}
