// SPDX-License-Identifier: BSD-3-Clause
// The choice of a schedule.
#include "coll/select/select.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <cstdio>
#include <string_view>

#include "coll/select/fused.hpp"
#include "coll/select/model.hpp"

namespace beeline::coll::select {
namespace {

using plan::Collective;

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

std::array<const config::Row*, plan::kCollectives> find_rows() noexcept {
    std::array<const config::Row*, plan::kCollectives> table{};
    for (int number = 0; number < plan::kCollectives; ++number) {
        table[static_cast<std::size_t>(number)] = row_of(static_cast<Collective>(number));
    }
    return table;
}

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

/// Calls take(algorithm) for all algorithms of a collective, built in and loaded.
template <class Take>
void each_algorithm(Collective collective, const Settings& settings, Take&& take) {
    for (const plan::Algorithm* algorithm : plan::algorithms(collective)) {
        take(*algorithm);
    }
    for (const plan::Algorithm* algorithm : settings.tuning->loaded) {
        if (algorithm->collective == collective) {
            take(*algorithm);
        }
    }
}

/// The schedule that takes least; with a refusal when none can serve the call.
Candidate best_schedule(const Facts& facts, const Settings& settings) noexcept {
    Candidate best;
    best.refusal = "no algorithm serves this call";
    each_algorithm(facts.request.collective, settings, [&](const plan::Algorithm& algorithm) {
        // What a file brought is taken where it is meant for, or where it is named.
        const Candidate one = estimate(algorithm, facts, settings);
        if (!algorithm.claims && one.refusal == nullptr &&
            (best.refusal != nullptr || one.seconds < best.seconds)) {
            best = one;
        }
    });
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
    // On host memory nothing is copied, whatever its length.
    const bool copies = settings.memory() == Memory::kDevice;
    if ((copies && !facts.bytes_known) || plan::on_neighbors(collective)) {
        staged.refusal = "not all ranks know its bytes";
        return staged;
    }
    Settings on_host = settings;
    on_host.no_gpu = true;
    const Candidate best = best_schedule(facts, on_host);
    staged.cost = best.cost;
    staged.seconds = best.seconds;
    const double bytes = staged_bytes(facts.request, facts.bytes);
    if (copies && bytes > 0) {
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

/// By a file that states the sizes its schedule is meant for; with no algorithm when none does.
/// Where rules name it, they say when it is taken.
Choice by_file(const Facts& facts, const Settings& settings) noexcept {
    const auto& rules = settings.tuning->rules;
    const double bytes = facts.bytes_known ? facts.bytes : kUnknownBytes;
    for (const plan::Algorithm* algorithm : settings.tuning->loaded) {
        const bool ruled = std::any_of(rules.begin(), rules.end(), [algorithm](const Rule& rule) {
            return rule.algorithm == algorithm;
        });
        if (!ruled && algorithm->collective == facts.request.collective &&
            refuses(*algorithm, facts, settings) == nullptr &&
            algorithm->claims(facts.request, bytes)) {
            return {algorithm, 1, "loaded for these ranks and bytes", 0};
        }
    }
    return {};
}

/// By the cost model. On host memory the model knows nothing that speaks against the previous
/// module, whose algorithms are the same: only what was measured does.
Choice cheapest(const Facts& facts, const Settings& settings) noexcept {
    constexpr const char* kReason = "the cheapest by the cost model";
    const Candidate schedule = best_schedule(facts, settings);
    const Candidate staged = estimate_staged(facts, settings);
    if (schedule.refusal != nullptr && staged.refusal != nullptr) {
        return {nullptr, 1, schedule.refusal, 0};
    }
    if (schedule.refusal != nullptr ||
        (staged.refusal == nullptr && staged.seconds <= schedule.seconds)) {
        return {nullptr, 1, kReason, 0};
    }
    return {schedule.algorithm, schedule.slices, kReason, 0};
}

}  // namespace

std::string_view wanted(Collective collective, const config::Params& params) noexcept {
    // Asked for in every call: the table of parameters is searched once.
    static const std::array<const config::Row*, plan::kCollectives> table = find_rows();
    const config::Row* row = table[static_cast<std::size_t>(collective)];
    return row == nullptr ? "auto" : config::word(*row, wanted_index(collective, params));
}

std::string refuse_word(Collective collective, std::string_view word, const Tuning& tuning) {
    static const std::array<const config::Row*, plan::kCollectives> table = find_rows();
    const config::Row* row = table[static_cast<std::size_t>(collective)];
    if (row == nullptr || config::has_word(*row, word) ||
        find(collective, word, tuning) != nullptr) {
        return {};
    }
    std::string text = "parameter coll_beeline_" + std::string(row->name) + ": '" +
                       std::string(word) + "' is refused; allowed: " + row->words;
    for (const plan::Algorithm* loaded : tuning.loaded) {
        if (loaded->collective == collective) {
            text.append("|").append(loaded->name);
        }
    }
    return text;
}

Choice choose(const Facts& facts, const Settings& settings) noexcept {
    const Collective collective = facts.request.collective;
    const std::string_view word = wanted(collective, *settings.params);
    if (word == "staged" && !must_fold(collective, settings)) {
        return {nullptr, 1, "asked for by parameter", 0};
    }
    if (word != "auto") {
        const plan::Algorithm* named = find(collective, word, *settings.tuning);
        if (named != nullptr && refuses(*named, facts, settings) == nullptr) {
            return {named, estimate(*named, facts, settings).slices, "asked for by parameter", 0};
        }
    }
    if (const Choice loaded = by_file(facts, settings); loaded.algorithm != nullptr) {
        return loaded;
    }
    if (const Choice ruled = by_rule(facts, settings); ruled.line > 0) {
        return ruled;
    }
    return cheapest(facts, settings);
}

std::vector<Candidate> candidates(const Facts& facts, const Settings& settings) {
    std::vector<Candidate> all;
    each_algorithm(facts.request.collective, settings, [&](const plan::Algorithm& algorithm) {
        all.push_back(estimate(algorithm, facts, settings));
    });
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
