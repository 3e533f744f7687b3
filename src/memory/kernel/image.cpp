// SPDX-License-Identifier: BSD-3-Clause
// Embeds runs.ptx. BEELINE_RUNS_PTX_FILE is its path, given by the makefile.
#include "memory/kernel/image.hpp"

#include "base/embed.hpp"
#include "memory/kernel/source_hash.h"

BEELINE_EMBED_FILE(beeline_runs_ptx, BEELINE_RUNS_PTX_FILE);

namespace beeline::memory::kernel {

const char* runs_image() noexcept {
    return beeline_runs_ptx;
}

const char* source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_SOURCE_KERNEL);
}

}  // namespace beeline::memory::kernel
