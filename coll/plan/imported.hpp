// SPDX-License-Identifier: BSD-3-Clause
// What a file of schedules holds, whatever its format.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "coll/plan/schedule.hpp"
#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {

/// Longer texts are refused.
inline constexpr std::size_t kMostImportedBytes = std::size_t{64} << 20;

/// What a document holds, or what is wrong with it.
struct Imported {
    std::vector<Schedule> world;
    std::vector<Neighbors> neighbors;
    /// The sizes it is meant for: of the vector, or of one block. All where it says nothing.
    Range bytes;
    std::string problem;
    bool ok() const noexcept { return problem.empty(); }
};

/// How every import ends. `read(imported)` fills it, or throws what is wrong; the schedules are
/// then proved by validate(), and stay only when the proof holds. Throws nothing, not even for lack
/// of memory.
template <class Read>
Imported import_proved(Read&& read) noexcept {
    Imported imported;
    try {
        read(imported);
        imported.problem = validate(imported.world, imported.neighbors).problem;
    } catch (const std::bad_alloc&) {
        imported.problem = "no memory";
    } catch (const std::exception& error) {
        imported.problem = error.what();
    }
    if (!imported.ok()) {
        imported.world.clear();
        imported.neighbors.clear();
    }
    return imported;
}

/// Reads a document: MSCCL's XML where it begins as XML does, else JSON. As from_json() and
/// from_msccl(); JSON only where nlohmann-json was there when Beeline was built.
Imported import_text(std::string_view text) noexcept;

}  // namespace beeline::coll::plan
