// SPDX-License-Identifier: BSD-3-Clause
// The algorithms that one kernel runs as a whole: candidates like schedules, but never built.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "coll/select/select.hpp"

namespace beeline::coll::select {

/// What of them a call could use; equal on all ranks.
struct FusedFacts {
    bool available = false;         ///< all ranks have agreed on it
    std::size_t most_one_shot = 0;  ///< bytes
    std::size_t most_two_shot = 0;
};

/// fused_one_shot and fused_two_shot of allreduce, which refuse to be built as schedules.
std::span<const plan::Algorithm* const> fused_algorithms() noexcept;

bool is_fused(const plan::Algorithm* algorithm) noexcept;
bool is_two_shot(const plan::Algorithm* algorithm) noexcept;

/// Them as an explanation shows them; none where they never serve. Whether all ranks agree on them
/// turns out at a call only.
std::vector<Candidate> fused_candidates(const plan::Request& request, double bytes,
                                        const config::Params& params);

/// What serves a call instead of the schedule that was chosen for it; null when that one stays.
/// `word` is the parameter's: an algorithm named there wins, "auto" leaves it to the cost model.
const plan::Algorithm* prefer_fused(std::string_view word, const FusedFacts& facts,
                                    const plan::Request& request, double bytes,
                                    const plan::Algorithm* schedule) noexcept;

}  // namespace beeline::coll::select
