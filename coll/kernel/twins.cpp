// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels for the software CUDA device: built into libbeeline_kernels.so, which
// SOFTCUDA_KERNELS names.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/kernel/source_hash.h"
#include "softcuda/include/softcuda_kernel.hpp"

#define BEELINE_DEVICE inline
#define BEELINE_INDEPENDENT
#include "coll/kernel/reduce.inc"

#define BEELINE_KERNEL(op, type, Functor, T)                                                    \
    static void reduce_##op##_##type(const void* left, const void* right, void* out,            \
                                     std::size_t n) {                                           \
        const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;           \
        const std::size_t stride = gridDim.x * std::size_t{blockDim.x};                         \
        beeline::coll::kernel::reduce_share<T, beeline::coll::kernel::Functor>(                 \
            softcuda::translate(left), softcuda::translate(right), softcuda::translate(out), n, \
            first, stride);                                                                     \
    }                                                                                           \
    SOFTCUDA_TWIN(reduce_##op##_##type)
BEELINE_REDUCE_KERNELS(BEELINE_KERNEL)

#define BEELINE_TWIN(function) SOFTCUDA_TWIN(function)
static void BEELINE_SOURCE_KERNEL() {}
BEELINE_TWIN(BEELINE_SOURCE_KERNEL)
