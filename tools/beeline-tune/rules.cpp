// SPDX-License-Identifier: BSD-3-Clause
// Winners, and where one gives way to the next.
#include "tools/beeline-tune/rules.hpp"

#include <algorithm>
#include <cmath>

namespace beeline::tune {
namespace {

/// What no clock here tells apart, in microseconds.
constexpr double kNoise = 0.3;

const Timing* find(const Measured& measured, const std::string& name) {
    const auto found = std::find_if(measured.timings.begin(), measured.timings.end(),
                                    [&](const Timing& each) { return each.name == name; });
    return found == measured.timings.end() ? nullptr : &*found;
}

bool same(const Timing& one, const Timing& two) {
    return one.name == two.name && one.slices == two.slices;
}

std::string ranks_of(const Domain& domain) {
    const std::string least = std::to_string(domain.least_ranks);
    return domain.most_ranks == domain.least_ranks
               ? least
               : least + "-" + std::to_string(domain.most_ranks);
}

}  // namespace

std::vector<Timing> winners(const std::vector<Measured>& sizes, double margin) {
    std::vector<Timing> result;
    for (const Measured& measured : sizes) {
        const Timing* best = &*std::min_element(
            measured.timings.begin(), measured.timings.end(),
            [](const Timing& a, const Timing& b) { return a.microseconds < b.microseconds; });
        const double limit = best->microseconds * (1 + margin) + kNoise;
        const Timing* before = result.empty() ? nullptr : find(measured, result.back().name);
        const Timing* staged = find(measured, "staged");
        if (staged != nullptr && staged->microseconds <= limit) {
            best = staged;
        } else if (before != nullptr && before->microseconds <= limit) {
            best = before;
        }
        result.push_back(*best);
    }
    return result;
}

std::string rules(const Domain& domain, const std::vector<Measured>& sizes, double margin) {
    const std::vector<Timing> best = winners(sizes, margin);
    std::string text;
    std::size_t from = 0;
    for (std::size_t first = 0; first < best.size();) {
        std::size_t last = first;
        while (last + 1 < best.size() && same(best[last + 1], best[first])) {
            ++last;
        }
        const bool ends = last + 1 < best.size();
        const auto to =
            !ends ? 0
                  : static_cast<std::size_t>(std::sqrt(static_cast<double>(sizes[last].bytes) *
                                                       static_cast<double>(sizes[last + 1].bytes)));
        text += "rule collective=" + domain.collective + " ranks=" + ranks_of(domain) +
                " nodes=" + std::to_string(domain.nodes) + " bytes=" + std::to_string(from) + "-" +
                (ends ? std::to_string(to) : "") + " algorithm=" + best[first].name;
        if (best[first].slices > 1) {
            text += " slices=" + std::to_string(best[first].slices);
        }
        text += "\n";
        from = to + 1;
        first = last + 1;
    }
    return text;
}

}  // namespace beeline::tune
