// SPDX-License-Identifier: BSD-3-Clause
// Loops in lists of ops: runs that repeat, each turn with its chunks, peers and dependencies moved
// on by the same step. A notation for people and documents; what is proved and run is the list
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// What an op moves on by from one turn to the next. Chunks wrap around at the end of their buffer,
/// the chunks that slots are like at the end of the frame, peers at the last rank.
struct Stride {
    std::int32_t peer = 0;
    std::int32_t source = 0;
    std::int32_t second = 0;
    std::int32_t target = 0;
    std::int32_t source_like = 0;
    std::int32_t second_like = 0;
    std::int32_t target_like = 0;
    std::vector<std::int32_t> after;  ///< one for each dependency
};

/// The ops [first, first + strides.size()) of a list, and `turns` - 1 times as many behind them.
struct Loop {
    std::uint32_t first = 0;
    std::uint32_t turns = 1;
    std::vector<Stride> strides;
    std::uint32_t end() const noexcept {
        return first + turns * static_cast<std::uint32_t>(strides.size());
    }
};

/// The op, and in `after` what it waits for, in turn `turn` (from 0) of a loop, whose first turn
/// has `op` waiting for `first_after`. `after` may name ops that there are not.
Op in_turn(const Schedule& schedule, const Op& op, std::span<const std::int32_t> first_after,
           const Stride& stride, std::uint32_t turn, std::vector<std::int32_t>& after);

/// The loops of a schedule, in list order, each of three turns or more.
std::vector<Loop> find_loops(const Schedule& schedule);

}  // namespace beeline::coll::plan
