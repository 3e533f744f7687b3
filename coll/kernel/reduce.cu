// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels for nvcc, which makes an image of each family (see regenerate.sh):
// BEELINE_FAMILY is the family's macro in reduce.inc.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "source_hash.h"

#define BEELINE_DEVICE __device__ __forceinline__
#define BEELINE_INDEPENDENT
#define BEELINE_ROLLED _Pragma("unroll 1")
// Operands are in global memory (which pinned and managed memory belong to).
#define BEELINE_ASSUME_GLOBAL(address) __builtin_assume(__isGlobal(address))
#include "reduce.inc"

#define BEELINE_KERNEL(op, type, Functor, T)                                                       \
    extern "C" __global__ void reduce_##op##_##type(const __grid_constant__ Inputs inputs,          \
                                                    unsigned n, void* out, std::size_t count) {    \
        const std::size_t first = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; \
        const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);               \
        reduce_share<T, Functor>(inputs, n, out, count, first, stride);                            \
    }
using namespace beeline::coll::kernel;
BEELINE_FAMILY(BEELINE_KERNEL)

// Does nothing; its name says which sources the image was made from.
extern "C" __global__ void BEELINE_SOURCE_KERNEL() {}
