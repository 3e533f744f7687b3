// SPDX-License-Identifier: BSD-3-Clause
// Following control variables.
#include "plugin/coll/parameters.hpp"

#include <cstring>
#include <string_view>

#include "coll/select/select.hpp"
#include "config/config.hpp"
#include "plugin/params.hpp"

namespace beeline::plugin::coll {

using beeline::coll::plan::Collective;

void follow_parameter(Collective collective) noexcept {
    static const config::Row* rows[beeline::coll::plan::kCollectives] = {};
    const config::Row*& row = rows[static_cast<int>(collective)];
    if (row == nullptr) {
        char name[64];
        std::snprintf(name, sizeof name, "%s_algorithm",
                      beeline::coll::plan::to_string(collective));
        row = find_row("coll", name);
    }
    const char* text = row == nullptr ? nullptr : text_of(*row);
    if (text != nullptr && beeline::coll::select::wanted(collective, config::params()) != text) {
        config::set(config::params(), *row, text);
    }
}

}  // namespace beeline::plugin::coll
