// SPDX-License-Identifier: BSD-3-Clause
// The fused collective kernels of each context, loaded once for all communicators.
#pragma once

#include "coll/kernel/types.hpp"
#include "cuda/driver.hpp"

namespace beeline::coll::exec {

/// The kernel, or null when it cannot be had (which was logged). `context` must be current.
/// Thread-safe.
CUfunction fused_kernel(const cuda::Driver& driver, CUcontext context, kernel::Type type,
                        kernel::Op op) noexcept;

/// Forgets, without unloading, what was loaded in a context that is gone (a device reset).
void forget_fused_kernels(CUcontext context) noexcept;

/// Unloads everything, at finalize.
void release_fused_kernels() noexcept;

}  // namespace beeline::coll::exec
