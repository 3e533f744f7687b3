// SPDX-License-Identifier: BSD-3-Clause
// Schedules as JSON, in and out; the format is described in docs/schedules.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "coll/plan/imported.hpp"

namespace beeline::coll::plan {

/// The schedules of all ranks as one document; `bytes`: the sizes they are meant for.
std::string to_json(std::span<const Schedule> world, std::span<const Neighbors> neighbors = {},
                    const Range& bytes = {});

/// Reads a document. Nothing in it is believed: sizes are bounded, every number is checked, and the
/// schedules are proved by validate(); `world` is filled only when the proof holds. Throws nothing,
/// not even for lack of memory.
Imported from_json(std::string_view text) noexcept;

}  // namespace beeline::coll::plan
