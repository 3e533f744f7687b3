// SPDX-License-Identifier: BSD-3-Clause
// What a schedule is built from: facts that do not change with count, datatype or memory.
#pragma once

#include <cstdint>
#include <span>

#include "coll/plan/collective.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// An edge to or from a neighbour. Two edges between the same ranks are told apart by their channel
/// where order alone does not (periodic Cartesian grids of two ranks): both ends must give the
/// same.
struct Edge {
    int peer = 0;
    int channel = 0;
};

/// The facts. All but `rank`, `in_place` and the edges must be equal on all ranks. Spans are not
/// kept by schedules.
struct Request {
    Collective collective = Collective::kAllreduce;
    int size = 1;
    int rank = 0;
    int root = 0;
    /// Of this rank. Of rooted collectives it says something at the root only.
    bool in_place = false;
    bool commutative = true;  ///< of the operation
    /// Of collectives on blocks: kEqual, kVarying or kScattered. (On vectors it is always kEven.)
    Cut cut = Cut::kEqual;
    /// Pieces of a block, for algorithms that pipeline; the others take it too and ignore it.
    int slices = 1;
    /// The node of each rank, numbered from 0 in the order of their lowest ranks; empty: one node.
    std::span<const int> node_of;
    std::span<const Edge> sources;  ///< neighbour collectives: where output block k comes from
    std::span<const Edge> targets;  ///< neighbour collectives: where input block k goes
};

/// Sets whether it is in place, the cut and the blocks of each buffer, which follow from the
/// meaning of the collective and, for collectives on a vector, from the blocks it is cut into.
void set_blocks(Schedule& schedule, const Request& request, std::uint32_t vector_blocks);

}  // namespace beeline::coll::plan
