// SPDX-License-Identifier: BSD-3-Clause
// The embedded fused kernels.
#include "coll/kernel/fused_image.hpp"

#include "coll/kernel/embed.hpp"
#include "coll/kernel/functors.hpp"
#include "coll/kernel/fused_source_hash.h"

BEELINE_EMBED(fused, fused_image)

namespace beeline::coll::kernel {
namespace {

/// By kernel_index().
#define BEELINE_ENTRY(op, type, Functor, T) "fused_allreduce_" #op "_" #type,
constexpr const char* kNames[] = {BEELINE_REDUCE_KERNELS(BEELINE_ENTRY)};
#undef BEELINE_ENTRY
static_assert(sizeof kNames / sizeof kNames[0] == kKernels);

}  // namespace

const char* fused_source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_FUSED_SOURCE_KERNEL);
}

const char* fused_kernel_name(Type type, Op op) noexcept {
    const int index = kernel_index(type, op);
    return index < 0 ? nullptr : kNames[index];
}

}  // namespace beeline::coll::kernel
