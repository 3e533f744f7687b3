// SPDX-License-Identifier: BSD-3-Clause
// Schedules as JSON, in and out; the format is described in docs/schedules.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coll/plan/schedule.hpp"
#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {

/// The schedules of all ranks as one document.
std::string to_json(std::span<const Schedule> world, std::span<const Neighbors> neighbors = {});

/// What a document holds, or what is wrong with it.
struct Imported {
    std::vector<Schedule> world;
    std::vector<Neighbors> neighbors;
    std::string problem;
    bool ok() const noexcept { return problem.empty(); }
};

/// Reads a document. Nothing in it is believed: sizes are bounded, every number is checked, and the
/// schedules are proved by validate(); `world` is filled only when the proof holds. Throws nothing,
/// not even for lack of memory.
Imported from_json(std::string_view text) noexcept;

}  // namespace beeline::coll::plan
