// SPDX-License-Identifier: BSD-3-Clause
// A picture of a world: time from left to right, a row for each rank.
#pragma once

#include <span>
#include <string>

#include "coll/plan/schedule.hpp"
#include "coll/plan/timeline.hpp"

namespace beeline::coll::plan {

/// SVG text. In a row the upper band is what the rank sends, the middle one what it receives, the
/// lower one copies and reductions; lines lead from senders to receivers, unless there are more
/// than kMostLines.
inline constexpr std::size_t kMostLines = 4000;
std::string draw(std::span<const Schedule> world, const Timeline& timeline,
                 const std::string& title);

}  // namespace beeline::coll::plan
