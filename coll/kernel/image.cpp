// SPDX-License-Identifier: BSD-3-Clause
// The embedded reduction kernels.
#include "coll/kernel/image.hpp"

#include "coll/kernel/embed.hpp"
#include "coll/kernel/source_hash.h"

BEELINE_EMBED(reduce, reduce_image)

namespace beeline::coll::kernel {

const char* source_kernel_name() noexcept {
    return BEELINE_TEXT_OF(BEELINE_SOURCE_KERNEL);
}

}  // namespace beeline::coll::kernel
