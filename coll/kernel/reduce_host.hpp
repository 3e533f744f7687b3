// SPDX-License-Identifier: BSD-3-Clause
// Reductions on the CPU: the same source as the GPU's kernels.
#pragma once

#include <cstddef>

#include "coll/kernel/types.hpp"

namespace beeline::coll::kernel {

/// out[i] = left[i] (op) right[i] for `count` elements at any host addresses; `left` is the lower
/// rank's. `out` may be `left` or `right` itself but must not overlap them partly. The pair must be
/// supported().
void reduce_host(Type type, Op op, const void* left, const void* right, void* out,
                 std::size_t count) noexcept;

}  // namespace beeline::coll::kernel
