// SPDX-License-Identifier: BSD-3-Clause
// Calls that the choice gave to the previous module, remembered so that the next one like it costs
// next to nothing.
#pragma once

#include <array>
#include <cstddef>

#include "plugin/coll/report.hpp"

namespace beeline::plugin::coll {

/// What tells the choice for a call on one communicator, from this rank's arguments: calls that are
/// alike here are of the same facts, which are equal on all ranks. Sizes are 0 where a rank does
/// not know them, or where no choice depends on them.
struct Likeness {
    Entry entry = Entry::kCount;
    bool commutative = true;
    bool in_place = false;
    int root = 0;
    int word = 0;  ///< index of the parameter's
    std::size_t sent = 0;
    std::size_t received = 0;
    bool operator==(const Likeness&) const noexcept = default;
};

/// One for each communicator.
class HandedOver {
 public:
    bool holds(const Likeness& call) const noexcept { return kept_[slot(call)] == call; }
    void remember(const Likeness& call) noexcept { kept_[slot(call)] = call; }

 private:
    static constexpr std::size_t kKept = 8;
    static std::size_t slot(const Likeness& call) noexcept {
        const std::size_t word =
            call.received ^ call.sent ^ static_cast<std::size_t>(call.entry) << 20;
        return word * 0x9e3779b97f4a7c15ULL >> 61;
    }
    std::array<Likeness, kKept> kept_;
};

}  // namespace beeline::plugin::coll
