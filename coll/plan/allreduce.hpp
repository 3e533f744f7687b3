// SPDX-License-Identifier: BSD-3-Clause
// Builders of allreduce schedules: each makes one rank's part in time proportional to its own
// steps.
#pragma once

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// Ring: reduce-scatter, then allgather, each in size-1 steps around the ring.
/// Steps 2(p-1); a rank sends 2(p-1)/p of the vector. Not ordered: chunk c is reduced starting from
/// rank c. Chunks longer than `slice` elements (0: never) travel as several messages, so that
/// sending a slice overlaps reducing the next; `slice` must be equal on all ranks. In place it
/// needs scratch for two chunks; otherwise none: chunks land in the output and meet the input
/// there.
Schedule build_allreduce_ring(int size, int rank, std::size_t count, bool in_place,
                              std::size_t slice = 0);

/// Recursive doubling: every acting pair exchanges whole vectors, log2(power) steps, and two more
/// for sizes that are not a power of two. An acting rank sends the vector once a step. Ordered.
/// Scratch: two vectors at most.
Schedule build_allreduce_recursive_doubling(int size, int rank, std::size_t count, bool in_place);

}  // namespace beeline::coll::plan
