// SPDX-License-Identifier: BSD-3-Clause
// Proof by symbolic execution that the schedules of all ranks together are their collective, for
// every length of their chunks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/plan/request.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// What was wrong, or an empty text; and what the schedules were seen to do.
struct Verdict {
    std::string problem;
    std::uint64_t ops = 0;       ///< of all ranks
    std::uint64_t messages = 0;  ///< of all ranks
    std::uint32_t depth = 0;     ///< the most messages that wait for one another
    bool ok() const noexcept { return problem.empty(); }
};

/// The neighbours of one rank, for neighbour collectives.
struct Neighbors {
    std::vector<Edge> sources;
    std::vector<Edge> targets;
};

/// Checks `world`, the schedules of ranks 0 .. p-1:
///  - all are for the same collective, frame, cut and root;
///  - every op stays inside its buffers and depends on earlier ops only; the input is never
///    written; an op that may not span blocks or slots doesn't;
///  - two ops of a rank that touch the same chunk, one writing, are ordered by dependencies;
///  - the k-th send from i to j on a channel meets the k-th receive at j from i, and what travels
///    is as long as the place where it lands, whatever the chunks' lengths are;
///  - it ends even when ops start strictly in list order and a send is complete only after its
///    receive has started (no deadlock);
///  - nothing undefined is read; operands of a reduction are the same part of the vector;
///  - at the end every output holds what the collective says: the right data, and for reductions
///    each contribution exactly once, and in rank order where the schedules claim to be ordered.
/// A barrier is over only where a chain of messages leads from every rank's start to its end.
/// In place, allreduce, reduce, scan and exscan may differ from rank to rank.
/// Time grows with the chunks that all ops touch. `neighbors` is for neighbour collectives: those
/// of each rank.
Verdict validate(std::span<const Schedule> world, std::span<const Neighbors> neighbors = {});

/// The part that needs one rank only: bounds, dependencies on earlier ops, no unordered overlap.
std::string validate_local(const Schedule& schedule);

}  // namespace beeline::coll::plan
