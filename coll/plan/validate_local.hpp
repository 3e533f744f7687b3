// SPDX-License-Identifier: BSD-3-Clause
// Checks of one rank's schedule, used by validate().
#pragma once

#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {

/// How many elements a buffer has in this schedule.
std::size_t buffer_elements(const Schedule& schedule, Buffer buffer);

/// "rank R, op I (kind) what".
std::string describe(const Schedule& schedule, std::size_t index, const std::string& what);

/// Bounds, dependencies on earlier ops only, no unordered overlap.
Verdict validate_local(const Schedule& schedule);

}  // namespace beeline::coll::plan
