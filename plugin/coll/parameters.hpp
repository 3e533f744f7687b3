// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm as a control variable that tools may write while the job runs.
#pragma once

#include <atomic>

#include "coll/plan/collective.hpp"
#include "coll/select/select.hpp"
#include "config/config.hpp"

namespace beeline::plugin::coll {

/// Where Open MPI keeps the text of each collective's parameter; null until it was looked for.
extern std::atomic<const char* const*> followed_texts[beeline::coll::plan::kCollectives];

void follow_changed_parameter(beeline::coll::plan::Collective collective) noexcept;

/// Takes over coll_beeline_<collective>_algorithm if a tool wrote it since. It must be written
/// alike on all ranks, between two collectives. In every call: where it is the default "auto", the
/// first of the words, this costs a few instructions.
inline void follow_parameter(beeline::coll::plan::Collective collective) noexcept {
    const char* const* place =
        followed_texts[static_cast<int>(collective)].load(std::memory_order_relaxed);
    const char* text = place == nullptr ? nullptr : *place;
    const bool is_default = text != nullptr && text[0] == 'a' && text[1] == 'u' && text[2] == 't' &&
                            text[3] == 'o' && text[4] == '\0' &&
                            beeline::coll::select::wanted_index(collective, config::params()) == 0;
    if (!is_default) {
        follow_changed_parameter(collective);
    }
}

}  // namespace beeline::plugin::coll
