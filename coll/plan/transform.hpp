// SPDX-License-Identifier: BSD-3-Clause
// Schedules made of schedules.
#pragma once

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// Makes a receive into a slot and a reduce of every receive_reduce, for executors that don't fuse
/// them. Each gets a slot of its own, or mirror chunks when it has several chunks.
Schedule split(const Schedule& schedule);

}  // namespace beeline::coll::plan
