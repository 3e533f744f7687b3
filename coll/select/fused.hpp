// SPDX-License-Identifier: BSD-3-Clause
// The algorithms that one kernel runs as a whole: candidates like schedules, but never built.
#pragma once

#include <cstddef>
#include <span>

#include "coll/plan/algorithm.hpp"

namespace beeline::coll::select {

/// What of them a call could use; equal on all ranks.
struct FusedFacts {
    bool available = false;         ///< all ranks have agreed on it
    std::size_t most_one_shot = 0;  ///< bytes
    std::size_t most_two_shot = 0;
};

/// fused_one_shot and fused_two_shot of allreduce, which refuse to be built as schedules.
std::span<const plan::Algorithm* const> fused_algorithms() noexcept;

/// The one of that name if it can serve a vector of so many bytes, else null.
const plan::Algorithm* find_fused(std::string_view name, const FusedFacts& facts,
                                  double bytes) noexcept;

bool is_fused(const plan::Algorithm* algorithm) noexcept;
bool is_two_shot(const plan::Algorithm* algorithm) noexcept;

/// The faster of those that can serve the vector, and the seconds it takes; null when none can.
const plan::Algorithm* cheapest_fused(const FusedFacts& facts, int ranks, double bytes,
                                      double& seconds) noexcept;

}  // namespace beeline::coll::select
