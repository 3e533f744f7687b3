// SPDX-License-Identifier: BSD-3-Clause
// Embeds fused.ptx. BEELINE_FUSED_PTX_FILE is its path, given by the makefile.
#include "coll/kernel/fused_image.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/kernel/fused_source_hash.h"

#define BEELINE_DEVICE inline
#define BEELINE_INDEPENDENT
#include "coll/kernel/reduce.inc"

asm(".pushsection .rodata\n"
    ".globl beeline_fused_ptx\n"
    ".hidden beeline_fused_ptx\n"
    "beeline_fused_ptx:\n"
    ".incbin \"" BEELINE_FUSED_PTX_FILE
    "\"\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" [[gnu::visibility("hidden")]] const char beeline_fused_ptx[];

namespace beeline::coll::kernel {
namespace {

/// By kernel_index().
#define BEELINE_ENTRY(op, type, Functor, T) "fused_allreduce_" #op "_" #type,
constexpr const char* kNames[] = {BEELINE_REDUCE_KERNELS(BEELINE_ENTRY)};
#undef BEELINE_ENTRY
static_assert(sizeof kNames / sizeof kNames[0] == kKernels);

}  // namespace

#define BEELINE_TEXT(name) #name
#define BEELINE_TEXT_OF(macro) BEELINE_TEXT(macro)

const char* fused_image() noexcept {
    return beeline_fused_ptx;
}

const char* fused_source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_FUSED_SOURCE_KERNEL);
}

const char* fused_kernel_name(Type type, Op op) noexcept {
    const int index = kernel_index(type, op);
    return index < 0 ? nullptr : kNames[index];
}

}  // namespace beeline::coll::kernel
