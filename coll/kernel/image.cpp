// SPDX-License-Identifier: BSD-3-Clause
// Embeds reduce.ptx. BEELINE_PTX_FILE is its path, given by the makefile.
#include "coll/kernel/image.hpp"

#include "coll/kernel/source_hash.h"

asm(".pushsection .rodata\n"
    ".globl beeline_reduce_ptx\n"
    ".hidden beeline_reduce_ptx\n"
    "beeline_reduce_ptx:\n"
    ".incbin \"" BEELINE_PTX_FILE
    "\"\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" [[gnu::visibility("hidden")]] const char beeline_reduce_ptx[];

namespace beeline::coll::kernel {

#define BEELINE_TEXT(name) #name
#define BEELINE_TEXT_OF(macro) BEELINE_TEXT(macro)

const char* reduce_image() noexcept {
    return beeline_reduce_ptx;
}

const char* source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_SOURCE_KERNEL);
}

}  // namespace beeline::coll::kernel
