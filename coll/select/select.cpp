// SPDX-License-Identifier: BSD-3-Clause
// The choice of a schedule.
#include "coll/select/select.hpp"

#include <algorithm>
#include <cstring>
#include <cstdio>
#include <limits>
#include <string_view>

#include "coll/select/fused.hpp"
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

constexpr const char* kDoesNotFold =
    "its results depend on how it divides the work (coll_beeline_reproducible)";

/// Whether only algorithms that fold in the order of ranks may serve it.
bool must_fold(Collective collective, const Settings& settings) noexcept {
    return settings.params->coll_reproducible && plan::reduces(collective);
}

/// Why the algorithm cannot serve the call, or may not by the settings; or null.
const char* refuses(const plan::Algorithm& algorithm, const Facts& facts,
                    const Settings& settings) noexcept {
    if (!algorithm.folds && must_fold(algorithm.collective, settings)) {
        return kDoesNotFold;
    }
    return plan::refuses(algorithm, facts.request);
}

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

/// The words of each parameter, one by one.
class Words {
 public:
    Words() noexcept {
        for (int number = 0; number < plan::kCollectives; ++number) {
            const config::Row* row = row_of(static_cast<Collective>(number));
            std::string_view words = row == nullptr ? "auto" : row->words;
            for (std::string_view& word : words_[number]) {
                const std::size_t end = std::min(words.find('|'), words.size());
                word = words.substr(0, end);
                words.remove_prefix(std::min(end + 1, words.size()));
            }
        }
    }
    std::string_view of(Collective collective, int index) const noexcept {
        const auto& words = words_[static_cast<int>(collective)];
        return index < kMost ? words[index] : words[0];
    }

 private:
    static constexpr int kMost = 24;
    std::string_view words_[plan::kCollectives][kMost];
};

/// Slices worth trying: a pipeline gains little from more.
constexpr int kMostSlices = 64;

/// What one algorithm would take, with the model's best number of slices.
Candidate estimate(const plan::Algorithm& algorithm, const Facts& facts,
                   const Settings& settings) noexcept {
    Candidate best;
    best.algorithm = &algorithm;
    best.refusal = refuses(algorithm, facts, settings);
    if (best.refusal != nullptr) {
        return best;
    }
    const double bytes = facts.bytes_known ? facts.bytes : kUnknownBytes;
    const bool several = several_nodes(facts.request.node_of);
    plan::Request request = facts.request;
    for (int slices = 1; slices <= (algorithm.pipelines ? kMostSlices : 1); slices *= 2) {
        request.slices = slices;
        const plan::Cost cost = algorithm.cost(request, bytes);
        const double seconds = predict(cost, several, settings.tuning->model, settings.memory());
        if (slices == 1 || seconds < best.seconds) {
            best.slices = slices;
            best.cost = cost;
            best.seconds = seconds;
        }
    }
    return best;
}

/// Bytes that come from devices before a call on host copies, and go back after it, on the longest
/// way through all ranks; `bytes` as in Facts.
double staged_bytes(const plan::Request& request, double bytes) noexcept {
    const double p = request.size;
    switch (request.collective) {
        case Collective::kAllreduce:
        case Collective::kBcast:
        case Collective::kReduce:
        case Collective::kScan:
        case Collective::kExscan:
            return 2 * bytes;
        case Collective::kAllgather:
        case Collective::kReduceScatter:
        case Collective::kGather:
        case Collective::kScatter:
            return (p + 1) * bytes;
        case Collective::kAlltoall:
            return 2 * p * bytes;
        case Collective::kBarrier:
        case Collective::kNeighborAllgather:
        case Collective::kNeighborAlltoall:
            break;
    }
    return 0;
}

/// What the previous module would take on host copies, if it knew the algorithms known here.
Candidate estimate_staged(const Facts& facts, const Settings& settings) noexcept {
    const Collective collective = facts.request.collective;
    Candidate staged;
    staged.seconds = -1;
    if (must_fold(collective, settings)) {
        staged.refusal = kDoesNotFold;
        return staged;
    }
    if (!facts.bytes_known || plan::on_neighbors(collective)) {
        staged.refusal = "not all ranks know its bytes";
        return staged;
    }
    Settings on_host = settings;
    on_host.no_gpu = true;
    for (const plan::Algorithm* algorithm : plan::algorithms(collective)) {
        const Candidate one = estimate(*algorithm, facts, on_host);
        if (one.refusal == nullptr && (staged.seconds < 0 || one.seconds < staged.seconds)) {
            staged.seconds = one.seconds;
            staged.cost = one.cost;
        }
    }
    const double bytes = staged_bytes(facts.request, facts.bytes);
    if (settings.memory() == Memory::kDevice && bytes > 0) {
        const Link& link = settings.tuning->model.staging;
        staged.seconds += 2 * link.alpha + bytes * link.beta;
    }
    return staged;
}

bool fits(const Rule& rule, const Facts& facts) noexcept {
    const plan::Request& request = facts.request;
    if (rule.collective != request.collective ||
        !rule.ranks.has(static_cast<std::uint64_t>(request.size))) {
        return false;
    }
    const auto nodes = request.node_of.empty()
                           ? 1
                           : *std::max_element(request.node_of.begin(), request.node_of.end()) + 1;
    const double bytes = facts.bytes_known ? facts.bytes : kUnknownBytes;
    return rule.nodes.has(static_cast<std::uint64_t>(nodes)) &&
           rule.bytes.has(static_cast<std::uint64_t>(bytes));
}

/// By the rules of the tuning file; of line 0 when none decides.
Choice by_rule(const Facts& facts, const Settings& settings) noexcept {
    for (const Rule& rule : settings.tuning->rules) {
        if (!fits(rule, facts)) {
            continue;
        }
        const Candidate candidate = rule.algorithm == nullptr
                                        ? estimate_staged(facts, settings)
                                        : estimate(*rule.algorithm, facts, settings);
        if (candidate.refusal == nullptr) {
            const bool as_told =
                rule.slices > 0 && rule.algorithm != nullptr && rule.algorithm->pipelines;
            return {rule.algorithm, as_told ? rule.slices : candidate.slices,
                    "by a rule of the tuning file", rule.line};
        }
    }
    return {};
}

/// By the cost model.
Choice cheapest(const Facts& facts, const Settings& settings) noexcept {
    Choice best;
    best.reason = "no algorithm serves this call";
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](const Candidate& candidate) {
        if (candidate.refusal == nullptr && candidate.seconds < least) {
            best = {candidate.algorithm, candidate.slices, "the cheapest by the cost model", 0};
            least = candidate.seconds;
        }
    };
    for (const plan::Algorithm* algorithm : plan::algorithms(facts.request.collective)) {
        consider(estimate(*algorithm, facts, settings));
    }
    consider(estimate_staged(facts, settings));
    return best;
}

}  // namespace

std::string_view wanted(Collective collective, const config::Params& params) noexcept {
    // Asked for in every call: the table of parameters is searched once.
    static const Words words;
    return words.of(collective, wanted_index(collective, params));
}

int wanted_index(Collective collective, const config::Params& params) noexcept {
    return params.*kParameters[static_cast<int>(collective)];
}

Choice choose(const Facts& facts, const Settings& settings) noexcept {
    const Collective collective = facts.request.collective;
    const std::string_view word = wanted(collective, *settings.params);
    if (word == "staged" && !must_fold(collective, settings)) {
        return {nullptr, 1, "asked for by parameter", 0};
    }
    if (word != "auto") {
        const plan::Algorithm* named = plan::find(collective, word);
        if (named != nullptr && refuses(*named, facts, settings) == nullptr) {
            return {named, estimate(*named, facts, settings).slices, "asked for by parameter", 0};
        }
    }
    if (const Choice ruled = by_rule(facts, settings); ruled.line > 0) {
        return ruled;
    }
    return cheapest(facts, settings);
}

std::vector<Candidate> candidates(const Facts& facts, const Settings& settings) {
    std::vector<Candidate> all;
    for (const plan::Algorithm* algorithm : plan::algorithms(facts.request.collective)) {
        all.push_back(estimate(*algorithm, facts, settings));
    }
    all.push_back(estimate_staged(facts, settings));
    return all;
}

namespace {

std::string line_of(const Candidate& one) {
    const char* name = one.algorithm == nullptr ? "staged" : one.algorithm->name;
    char line[192];
    if (one.refusal != nullptr) {
        std::snprintf(line, sizeof line, "%-20s refused: %s\n", name, one.refusal);
    } else {
        std::snprintf(line, sizeof line, "%-20s %8.0f %7d %14.0f %14.0f %12.2f\n", name,
                      one.cost.steps + one.cost.across_steps, one.slices,
                      one.cost.bytes + one.cost.across_bytes, one.cost.reduced, one.seconds * 1e6);
    }
    return line;
}

}  // namespace

std::string explain(const Facts& facts, const Settings& settings) {
    char line[192];
    std::snprintf(line, sizeof line, "%-20s %8s %7s %14s %14s %12s\n", "candidate", "steps",
                  "slices", "bytes sent", "bytes reduced", "predicted us");
    std::string text = line;
    for (const Candidate& one : candidates(facts, settings)) {
        text += line_of(one);
    }
    for (const Candidate& one : fused_candidates(facts.request, facts.bytes, *settings.params)) {
        text += line_of(one);
    }
    const Choice choice = choose(facts, settings);
    std::snprintf(line, sizeof line, "chosen: %s, %d slices: %s",
                  choice.algorithm == nullptr ? "staged" : choice.algorithm->name, choice.slices,
                  choice.reason);
    text += line;
    if (choice.line > 0) {
        text += ", line " + std::to_string(choice.line);
    }
    return text + "\n";
}

}  // namespace beeline::coll::select
