// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm as a control variable that tools may write while the job runs.
#pragma once

#include "coll/plan/collective.hpp"

namespace beeline::plugin::coll {

/// Takes over coll_beeline_<collective>_algorithm if a tool wrote it since. It must be written
/// alike on all ranks, between two collectives.
void follow_parameter(beeline::coll::plan::Collective collective) noexcept;

}  // namespace beeline::plugin::coll
