// SPDX-License-Identifier: BSD-3-Clause
// Embeds runs.ptx. BEELINE_RUNS_PTX_FILE is its path, given by the makefile.
#include "memory/kernel/image.hpp"

#include "memory/kernel/source_hash.h"

asm(".pushsection .rodata\n"
    ".globl beeline_runs_ptx\n"
    ".hidden beeline_runs_ptx\n"
    "beeline_runs_ptx:\n"
    ".incbin \"" BEELINE_RUNS_PTX_FILE
    "\"\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" [[gnu::visibility("hidden")]] const char beeline_runs_ptx[];

namespace beeline::memory::kernel {

#define BEELINE_TEXT(name) #name
#define BEELINE_TEXT_OF(macro) BEELINE_TEXT(macro)

const char* runs_image() noexcept {
    return beeline_runs_ptx;
}

const char* source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_SOURCE_KERNEL);
}

}  // namespace beeline::memory::kernel
