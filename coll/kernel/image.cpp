// SPDX-License-Identifier: BSD-3-Clause
// Embeds the PTX files. BEELINE_PTX_FOLDER is where they are, given by the makefile.
#include "coll/kernel/image.hpp"

#include "coll/kernel/source_hash.h"

#define BEELINE_EMBED(family)                              \
    asm(".pushsection .rodata\n"                           \
        ".globl beeline_reduce_" #family                   \
        "\n"                                               \
        ".hidden beeline_reduce_" #family                  \
        "\n"                                               \
        "beeline_reduce_" #family                          \
        ":\n"                                              \
        ".incbin \"" BEELINE_PTX_FOLDER "/reduce_" #family \
        ".ptx\"\n"                                         \
        ".byte 0\n"                                        \
        ".popsection\n");                                  \
    extern "C" [[gnu::visibility("hidden")]] const char beeline_reduce_##family[];

BEELINE_EMBED(integer)
BEELINE_EMBED(logical)
BEELINE_EMBED(floating)
BEELINE_EMBED(small)
BEELINE_EMBED(pair)

namespace beeline::coll::kernel {

#define BEELINE_TEXT(name) #name
#define BEELINE_TEXT_OF(macro) BEELINE_TEXT(macro)

const char* reduce_image(Family family) noexcept {
    switch (family) {
        case Family::kInteger:
            return beeline_reduce_integer;
        case Family::kLogical:
            return beeline_reduce_logical;
        case Family::kFloating:
            return beeline_reduce_floating;
        case Family::kSmall:
            return beeline_reduce_small;
        case Family::kPair:
            break;
    }
    return beeline_reduce_pair;
}

const char* source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_SOURCE_KERNEL);
}

}  // namespace beeline::coll::kernel
