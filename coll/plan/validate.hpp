// SPDX-License-Identifier: BSD-3-Clause
// Proof by symbolic execution that the schedules of all ranks together are an allreduce.
#pragma once

#include <span>
#include <string>

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// What was wrong, or an empty text.
struct Verdict {
    std::string problem;
    bool ok() const noexcept { return problem.empty(); }
};

/// Checks `world`, the schedules of ranks 0 .. p-1 (each may or may not be in place):
///  - every op stays inside its buffers and depends on earlier ops only; the input is never
///  written;
///  - the k-th send from i to j on a channel meets the k-th receive at j from i, of the same
///  length;
///  - it ends even when a send is complete only after its receive has started (no deadlock);
///  - two ops of a rank that touch the same memory, one writing, are ordered by dependencies;
///  - nothing undefined is read; operands of a reduction are the same elements of the vector;
///  - at the end every rank's output has each rank's contribution to each element exactly once,
///  - and, where the schedules claim to be ordered, combined in rank order.
/// Time grows with the square of a rank's ops: for tests and tools.
Verdict validate(std::span<const Schedule> world);

}  // namespace beeline::coll::plan
