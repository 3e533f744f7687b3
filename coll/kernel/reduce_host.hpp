// SPDX-License-Identifier: BSD-3-Clause
// Reductions on the CPU: the same source as the GPU's kernels.
#pragma once

#include <cstddef>
#include <span>

#include "coll/kernel/types.hpp"

namespace beeline::coll::kernel {

/// out[i] = left[i] (op) right[i] for `count` elements at any host addresses; `left` is the lower
/// rank's. `out` may be `left` or `right` itself but must not overlap them partly. The pair must be
/// supported(). Gaps in long double and what contains it are left as they are.
void reduce_host(Type type, Op op, const void* left, const void* right, void* out,
                 std::size_t count) noexcept;

/// out[i] = (inputs[0][i] (op) inputs[1][i]) (op) inputs[2][i] ...: the same as one reduce_host
/// after another, except that f16, bf16, e4m3 and e5m2 are rounded once. At least one input; `out`
/// may be any of them itself.
void reduce_host_many(Type type, Op op, std::span<const void* const> inputs, void* out,
                      std::size_t count) noexcept;

}  // namespace beeline::coll::kernel
