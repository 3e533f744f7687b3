// SPDX-License-Identifier: BSD-3-Clause
// The algorithms and schedules under test: which there are, what tests of each are called, and the
// schedules of all ranks of a world.
#pragma once

#include <string>
#include <vector>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {

/// What the test of one algorithm is called; for INSTANTIATE_TEST_SUITE_P.
template <class Instance>
std::string name_of(const Instance& instance) {
    return std::string(to_string(instance.param->collective)) + '_' + instance.param->name;
}

/// The algorithms that need no communicator with a topology.
inline std::vector<const Algorithm*> all_but_neighbors() {
    std::vector<const Algorithm*> result;
    for (const Algorithm* algorithm : algorithms()) {
        if (!on_neighbors(algorithm->collective)) {
            result.push_back(algorithm);
        }
    }
    return result;
}

/// What is asked of `algorithm` on `nodes.size()` ranks, which are on these nodes; `nodes` must
/// outlive the request.
inline Request request_on(const Algorithm& algorithm, const std::vector<int>& nodes, int slices) {
    Request request;
    request.collective = algorithm.collective;
    request.size = static_cast<int>(nodes.size());
    request.node_of = nodes;
    request.slices = slices;
    return request;
}

/// The schedules of all ranks of `request`, which says everything but the rank.
inline std::vector<Schedule> build_world(const Algorithm& algorithm, Request request) {
    std::vector<Schedule> world;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
        world.push_back(algorithm.build(request));
    }
    return world;
}

}  // namespace beeline::coll::plan
