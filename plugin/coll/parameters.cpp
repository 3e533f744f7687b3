// SPDX-License-Identifier: BSD-3-Clause
// Following control variables.
#include "plugin/coll/parameters.hpp"

#include <cstdio>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "plugin/params.hpp"

namespace beeline::plugin::coll {

using beeline::coll::plan::Collective;

namespace {

/// Searched once: where an algorithm is named, as beeline-tune does, this is asked in every call.
const config::Row* row_of(Collective collective) noexcept {
    static constinit std::atomic<const config::Row*> rows[beeline::coll::plan::kCollectives] = {};
    std::atomic<const config::Row*>& kept = rows[static_cast<int>(collective)];
    const config::Row* row = kept.load(std::memory_order_relaxed);
    if (row == nullptr) {
        char name[64];
        std::snprintf(name, sizeof name, "%s_algorithm",
                      beeline::coll::plan::to_string(collective));
        row = find_row("coll", name);
        kept.store(row, std::memory_order_relaxed);
    }
    return row;
}

}  // namespace

constinit std::atomic<const char* const*> followed_texts[beeline::coll::plan::kCollectives] = {};

void follow_changed_parameter(Collective collective) noexcept {
    const config::Row* row = row_of(collective);
    if (row == nullptr) {
        return;
    }
    const char* const* place = place_of_text(*row);
    followed_texts[static_cast<int>(collective)].store(place, std::memory_order_relaxed);
    if (*place == nullptr ||
        beeline::coll::select::wanted(collective, config::params()) == *place) {
        return;
    }
    const std::string problem =
        beeline::coll::select::refuse_word(collective, *place, beeline::coll::select::tuning());
    if (problem.empty()) {
        config::set(config::params(), *row, *place);
    } else {
        log(LogLevel::kError, "%s", problem.c_str());
    }
}

}  // namespace beeline::plugin::coll
