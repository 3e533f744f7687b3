// SPDX-License-Identifier: BSD-3-Clause
// Schedules made of schedules.
#pragma once

#include <cstddef>

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// Makes a receive into a slot and a reduce of every receive_reduce, for executors that don't fuse
/// them. Each gets a slot of its own, or mirror chunks when it has several chunks.
Schedule split(const Schedule& schedule);

/// The same for a caller who is in place, or who is not. A schedule that is turned over first
/// copies the contribution, which may cost it scratch; nothing else changes, so ranks may be turned
/// over each for itself. Schedules to which it makes no difference come back as they are.
Schedule turn_over(const Schedule& schedule, bool in_place);

/// Marks reduces that an executor does at once with the one before: of one run of them in the list
/// each takes the result of the one before as its source, `most` operands in all. The executor
/// starts them together, when all that they wait for is complete, and writes the last one's target
/// only; what the others would have left in scratch nobody reads. The order of operands, and so
/// the result, stays.
Schedule join(Schedule schedule, std::size_t most);

/// How many reductions an executor starts for this schedule: joined ones count once.
std::size_t count_reductions(const Schedule& schedule) noexcept;

}  // namespace beeline::coll::plan
