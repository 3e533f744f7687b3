// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels for the software CUDA device: built into libbeeline_kernels.so, which
// SOFTCUDA_KERNELS names.
#include "coll/kernel/functors.hpp"
#include "coll/kernel/source_hash.h"
#include "softcuda/include/softcuda_kernel.hpp"

namespace beeline::coll::kernel {
namespace {

/// One block's part: a piece of its own, so that the processor's caches see each byte once. (On a
/// GPU neighbouring threads take neighbouring packs instead.)
template <class T, class Functor>
void reduce_piece(Inputs inputs, unsigned n, void* out, std::size_t count) {
    const std::size_t packs = (count * sizeof(T) + 63) / 64;
    const auto boundary = [&](std::size_t block) {
        const std::size_t element = packs * block / gridDim.x * (64 / sizeof(T));
        return element < count ? element : count;
    };
    const std::size_t begin = boundary(blockIdx.x);
    const std::size_t end = boundary(blockIdx.x + std::size_t{1});
    for (unsigned k = 0; k < n; ++k) {
        inputs.at[k] = softcuda::translate(static_cast<const T*>(inputs.at[k]) + begin);
    }
    reduce_share<T, Functor>(inputs, n, softcuda::translate(static_cast<T*>(out) + begin),
                             end - begin, 0, 1);
}

}  // namespace
}  // namespace beeline::coll::kernel

using namespace beeline::coll::kernel;

#define BEELINE_KERNEL(op, type, Functor, T)                                                    \
    static void reduce_##op##_##type(Inputs inputs, unsigned n, void* out, std::size_t count) { \
        reduce_piece<T, Functor>(inputs, n, out, count);                                        \
    }                                                                                           \
    SOFTCUDA_BRIEF_TWIN(reduce_##op##_##type)
BEELINE_REDUCE_KERNELS(BEELINE_KERNEL)

#define BEELINE_TWIN(function) SOFTCUDA_TWIN(function)
static void BEELINE_SOURCE_KERNEL() {}
BEELINE_TWIN(BEELINE_SOURCE_KERNEL)
