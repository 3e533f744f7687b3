// SPDX-License-Identifier: BSD-3-Clause
// When each op of a world runs on a simple machine: for pictures and for comparing algorithms.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// The machine: every rank has one link out and one link in, and one engine for copies and
/// reductions; a message holds both links of its ranks for latency + bytes / bandwidth.
struct Rates {
    double latency = 0;    ///< s a message
    double bandwidth = 1;  ///< bytes/s of a link
    double reduction = 1;  ///< bytes/s of results
    double copying = 1;    ///< bytes/s
    double start = 0;      ///< s to start a copy or a reduction
};

struct Interval {
    double begin = 0;  ///< s
    double end = 0;
};

struct Timeline {
    std::vector<std::vector<Interval>> ops;  ///< by rank and op
    double end = 0;                          ///< s until all ranks are through
};

/// `world` must be valid. The vector, or each block, has `bytes`; blocks that vary are taken to be
/// equal.
Timeline simulate(std::span<const Schedule> world, std::size_t bytes, const Rates& rates);

}  // namespace beeline::coll::plan
