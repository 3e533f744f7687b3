// SPDX-License-Identifier: BSD-3-Clause
// The GPU kernels as images for cuModuleLoadData, part of the library's read-only data.
#pragma once

#include "coll/kernel/types.hpp"

namespace beeline::coll::kernel {

/// The family's kernels as PTX text, ended by a zero byte.
const char* reduce_image(Family family) noexcept;

/// A kernel that is in images made from these sources only: its absence means that the image, or
/// the software device's twins, come from another version.
const char* source_kernel_name() noexcept;

}  // namespace beeline::coll::kernel
