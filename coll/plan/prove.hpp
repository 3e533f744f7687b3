// SPDX-License-Identifier: BSD-3-Clause
// Proves an algorithm over many numbers of ranks, roots and shapes.
#pragma once

#include <cstdint>
#include <string>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {

/// How far to go.
struct Extent {
    int every_size = 128;  ///< all rank counts up to this
    int every_root = 16;   ///< all roots up to this many ranks, above it three
    int random_sizes = 3;  ///< and so many more rank counts up to `largest`
    int largest = 4096;
    /// What one world may have of ops and chunks: an algorithm whose ranks each talk to all others
    /// can't be followed at 4096 ranks. Larger worlds are replaced by the largest that fits.
    std::uint64_t work = 4'000'000;
    std::uint64_t seed = 1;
};

/// What was proved.
struct Tally {
    std::uint64_t worlds = 0;
    std::uint64_t ops = 0;
    std::uint64_t messages = 0;
    int largest = 0;      ///< ranks
    std::string problem;  ///< the first one, with the world it is in
};

/// Follows `algorithm` through every shape that its collective has: in place or not, all cuts, one
/// and several slices (if it pipelines), one node and several (if it knows nodes), all the
/// operations it says it serves. Time is mostly the number of ops.
Tally prove(const Algorithm& algorithm, const Extent& extent);

}  // namespace beeline::coll::plan
