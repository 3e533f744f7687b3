// SPDX-License-Identifier: BSD-3-Clause
// Embeds the PTX files. BEELINE_PTX_FOLDER is where they are, given by the makefile.
#include "coll/kernel/fused_image.hpp"

#include "coll/kernel/functors.hpp"
#include "coll/kernel/fused_source_hash.h"

#define BEELINE_EMBED(family)                             \
    asm(".pushsection .rodata\n"                          \
        ".globl beeline_fused_" #family                   \
        "\n"                                              \
        ".hidden beeline_fused_" #family                  \
        "\n"                                              \
        "beeline_fused_" #family                          \
        ":\n"                                             \
        ".incbin \"" BEELINE_PTX_FOLDER "/fused_" #family \
        ".ptx\"\n"                                        \
        ".byte 0\n"                                       \
        ".popsection\n");                                 \
    extern "C" [[gnu::visibility("hidden")]] const char beeline_fused_##family[];

BEELINE_EMBED(integer)
BEELINE_EMBED(logical)
BEELINE_EMBED(floating)
BEELINE_EMBED(small)
BEELINE_EMBED(pair)

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

const char* fused_image(Family family) noexcept {
    switch (family) {
        case Family::kInteger:
            return beeline_fused_integer;
        case Family::kLogical:
            return beeline_fused_logical;
        case Family::kFloating:
            return beeline_fused_floating;
        case Family::kSmall:
            return beeline_fused_small;
        case Family::kPair:
            break;
    }
    return beeline_fused_pair;
}

const char* fused_source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_FUSED_SOURCE_KERNEL);
}

const char* fused_kernel_name(Type type, Op op) noexcept {
    const int index = kernel_index(type, op);
    return index < 0 ? nullptr : kNames[index];
}

}  // namespace beeline::coll::kernel
