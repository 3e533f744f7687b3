// SPDX-License-Identifier: BSD-3-Clause
// Which schedule a collective runs, from facts that are equal on all ranks.
#pragma once

#include <string_view>

#include "coll/plan/algorithm.hpp"
#include "config/config.hpp"

namespace beeline::coll::select {

/// The facts. Every rank of the communicator must come to the same ones.
struct Facts {
    /// Collective, size, root, commutativity, cut and nodes; rank, in_place and the edges are not
    /// looked at.
    plan::Request request;
    /// Of the vector, or of one block (the mean where blocks vary).
    double bytes = 0;
    /// False where no rank knows the sizes of all (gatherv, alltoallv ...): `bytes` is not read.
    bool bytes_known = true;
};

struct Choice {
    const plan::Algorithm* algorithm = nullptr;  ///< null: the previous module, on host copies
    int slices = 1;           ///< pieces of a block, for algorithms that pipeline
    const char* reason = "";  ///< why, for people; never null
};

/// The word of coll_<collective>_algorithm in force: "auto", "staged" or an algorithm's name.
std::string_view wanted(plan::Collective collective, const config::Params& params) noexcept;

/// The cheapest algorithm by the cost model, unless coll_<collective>_algorithm names one. One that
/// is named but cannot serve the call gives way to the cheapest that can.
Choice choose(const Facts& facts, const config::Params& params) noexcept;

}  // namespace beeline::coll::select
