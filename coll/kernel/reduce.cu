// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels for nvcc, which makes reduce.ptx of them (see regenerate.sh).
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "source_hash.h"

#define BEELINE_DEVICE __device__ __forceinline__
#define BEELINE_INDEPENDENT
#include "reduce.inc"

#define BEELINE_KERNEL(op, type, Functor, T)                                                       \
    extern "C" __global__ void reduce_##op##_##type(const void* left, const void* right,           \
                                                    void* out, std::size_t n) {                    \
        const std::size_t first = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; \
        const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);               \
        beeline::coll::kernel::reduce_share<T, beeline::coll::kernel::Functor>(left, right, out,   \
                                                                               n, first, stride);  \
    }
BEELINE_REDUCE_KERNELS(BEELINE_KERNEL)

// Does nothing; its name says which sources the image was made from.
extern "C" __global__ void BEELINE_SOURCE_KERNEL() {}
