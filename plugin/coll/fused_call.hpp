// SPDX-License-Identifier: BSD-3-Clause
// Whether one kernel serves an allreduce, and running it.
#pragma once

#include "coll/collective.hpp"
#include "coll/exec/fused.hpp"
#include "coll/select/fused.hpp"
#include "plugin/coll/schedules.hpp"

namespace beeline::plugin::coll {

/// Whether fused algorithms may serve some call on the communicator.
bool may_fuse(const Schedules& schedules) noexcept;

/// Takes one kernel instead of the schedule chosen for a blocking allreduce, where it can and
/// should, from facts equal on all ranks. The ranks may exchange messages to find out. (Other forms
/// are never fused: a kernel that waits for ranks which do something else meanwhile could stand in
/// their way.)
void prefer_fused(Schedules& schedules, const beeline::coll::Call& call, ompi_communicator_t* comm,
                  const beeline::coll::select::Facts& facts, beeline::coll::select::Choice& choice);

/// Starts one.
Status start_fused(Schedules& schedules, const beeline::coll::Call& call, bool two_shot);

/// Waits for its end, moving on whatever else is under way.
Status wait_fused(Schedules& schedules);

/// At finalize, when all ranks have passed the barrier in it.
void release_fused();

}  // namespace beeline::plugin::coll
