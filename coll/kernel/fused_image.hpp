// SPDX-License-Identifier: BSD-3-Clause
// The fused collective kernels as images for cuModuleLoadData.
#pragma once

#include "coll/kernel/types.hpp"

namespace beeline::coll::kernel {

/// The family's kernels as PTX text, ended by a zero byte.
const char* fused_image(Family family) noexcept;

/// A kernel that is in images made from these sources only.
const char* fused_source_kernel_name() noexcept;

/// The kernel of a whole allreduce, or null when there is none for the pair. Its parameter is a
/// FusedCall.
const char* fused_kernel_name(Type type, Op op) noexcept;

}  // namespace beeline::coll::kernel
