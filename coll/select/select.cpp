// SPDX-License-Identifier: BSD-3-Clause
// The choice of a schedule.
#include "coll/select/select.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "coll/select/model.hpp"

namespace beeline::coll::select {
namespace {

using plan::Collective;

/// The parameter of each collective, in the order of the collectives.
constexpr int config::Params::*kParameters[plan::kCollectives] = {
    &config::Params::coll_allreduce_algorithm,
    &config::Params::coll_bcast_algorithm,
    &config::Params::coll_reduce_algorithm,
    &config::Params::coll_allgather_algorithm,
    &config::Params::coll_reduce_scatter_algorithm,
    &config::Params::coll_alltoall_algorithm,
    &config::Params::coll_gather_algorithm,
    &config::Params::coll_scatter_algorithm,
    &config::Params::coll_scan_algorithm,
    &config::Params::coll_exscan_algorithm,
    &config::Params::coll_barrier_algorithm,
    &config::Params::coll_neighbor_allgather_algorithm,
    &config::Params::coll_neighbor_alltoall_algorithm,
};

constexpr std::string_view kSuffix = "_algorithm";

const config::Row* row_of(Collective collective) noexcept {
    const std::string_view name = plan::to_string(collective);
    for (const config::Row& row : config::rows()) {
        const std::string_view candidate = row.name;
        if (std::strcmp(row.component, "coll") == 0 &&
            candidate.size() == name.size() + kSuffix.size() && candidate.starts_with(name) &&
            candidate.ends_with(kSuffix)) {
            return &row;
        }
    }
    return nullptr;
}

/// Slices worth trying: a pipeline gains little from more.
constexpr int kMostSlices = 64;

/// The model's best number of slices for one algorithm, and what that costs.
struct Estimate {
    int slices = 1;
    double seconds = 0;
};

Estimate estimate(const plan::Algorithm& algorithm, const Facts& facts) noexcept {
    const double bytes = facts.bytes_known ? facts.bytes : kUnknownBytes;
    plan::Request request = facts.request;
    const bool several_nodes =
        std::any_of(request.node_of.begin(), request.node_of.end(), [](int n) { return n > 0; });
    Estimate best;
    for (int slices = 1; slices <= (algorithm.pipelines ? kMostSlices : 1); slices *= 2) {
        request.slices = slices;
        const double seconds = predict(algorithm.cost(request, bytes), several_nodes);
        if (slices == 1 || seconds < best.seconds) {
            best = {slices, seconds};
        }
    }
    return best;
}

}  // namespace

std::string_view wanted(Collective collective, const config::Params& params) noexcept {
    const config::Row* row = row_of(collective);
    std::string_view words = row == nullptr ? "auto" : row->words;
    for (int skip = params.*kParameters[static_cast<int>(collective)]; skip > 0; --skip) {
        words.remove_prefix(words.find('|') + 1);
    }
    return words.substr(0, words.find('|'));
}

Choice choose(const Facts& facts, const config::Params& params) noexcept {
    const Collective collective = facts.request.collective;
    const std::string_view word = wanted(collective, params);
    if (word == "staged") {
        return {nullptr, 1, "asked for by parameter"};
    }
    if (word != "auto") {
        const plan::Algorithm* named = plan::find(collective, word);
        if (named != nullptr && plan::refuses(*named, facts.request) == nullptr) {
            return {named, estimate(*named, facts).slices, "asked for by parameter"};
        }
    }
    Choice best;
    double least = 0;
    for (const plan::Algorithm* algorithm : plan::algorithms(collective)) {
        if (plan::refuses(*algorithm, facts.request) != nullptr) {
            continue;
        }
        const Estimate cost = estimate(*algorithm, facts);
        if (best.algorithm == nullptr || cost.seconds < least) {
            best = {algorithm, cost.slices, "the cheapest by the cost model"};
            least = cost.seconds;
        }
    }
    if (best.algorithm == nullptr) {
        best.reason = "no algorithm serves this call";
    }
    return best;
}

}  // namespace beeline::coll::select
