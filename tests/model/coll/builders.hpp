// SPDX-License-Identifier: BSD-3-Clause
// The schedules under test, for all ranks of a world.
#pragma once

#include <vector>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {

/// The schedules of all ranks of `request`, which says everything but the rank.
inline std::vector<Schedule> build_world(const Algorithm& algorithm, Request request) {
    std::vector<Schedule> world;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
        world.push_back(algorithm.build(request));
    }
    return world;
}

}  // namespace beeline::coll::plan
