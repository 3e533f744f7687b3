// SPDX-License-Identifier: BSD-3-Clause
// Decisions in words.
#include "protocol/explain.hpp"

#include <cstdio>

namespace beeline::protocol {

std::string explain(const Situation& situation, const Limits& limits, const Costs& costs,
                    Preference preference) {
    const Protocol& chosen = choose(situation, limits, costs, preference);
    std::string text;
    char line[256];
    for (const Candidate& each : candidates(situation, limits, costs)) {
        const bool taken = each.protocol == &chosen;
        if (each.obstacle == Reason::kNone) {
            std::snprintf(line, sizeof line, "%c %-15s %12.2f us  %s\n", taken ? '>' : ' ',
                          each.protocol->name, each.microseconds, each.protocol->does);
        } else {
            std::snprintf(line, sizeof line, "%c %-15s %15s  not possible: %s\n", taken ? '>' : ' ',
                          each.protocol->name, "-", to_string(each.obstacle));
        }
        text += line;
    }
    return text;
}

const char* list_offers(const Situation& situation, const Costs& costs,
                        std::span<char> out) noexcept {
    std::size_t used = 0;
    out[0] = '\0';
    for (const Candidate& each : candidates(situation, {}, costs)) {
        if (each.protocol->stage != Stage::kOffer) {
            continue;
        }
        const char* comma = used != 0 ? ", " : "";
        const int written =
            each.obstacle == Reason::kNone
                ? std::snprintf(out.data() + used, out.size() - used, "%s%s %.2f us", comma,
                                each.protocol->name, each.microseconds)
                : std::snprintf(out.data() + used, out.size() - used, "%s%s not (%s)", comma,
                                each.protocol->name, to_string(each.obstacle));
        used += static_cast<std::size_t>(std::max(written, 0));
        if (used >= out.size()) {
            break;
        }
    }
    return out.data();
}

}  // namespace beeline::protocol
