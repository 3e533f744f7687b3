// SPDX-License-Identifier: BSD-3-Clause
// The fused candidates and what they cost.
#include "coll/select/fused.hpp"

#include <algorithm>

#include "coll/kernel/fused.hpp"
#include "coll/select/model.hpp"

namespace beeline::coll::select {
namespace {

using plan::Algorithm;
using plan::Cost;
using plan::Request;

const char* no_schedule(const Request&) noexcept {
    return "is one kernel and no schedule";
}

plan::Schedule build(const Request&) {
    return {};
}

// A word of the low-latency protocol is half data.
Cost one_shot_cost(const Request& request, double bytes) noexcept {
    const double p = request.size;
    return {1, 2 * (p - 1) * bytes, (p - 1) * bytes, 0, 0};
}

Cost two_shot_cost(const Request& request, double bytes) noexcept {
    const double p = request.size;
    return {2, 4 * (p - 1) / p * bytes, (p - 1) / p * bytes, 0, 0};
}

constexpr const char* kSource = "one kernel, after NCCL's low-latency protocol";
constinit const Algorithm kOneShot = {plan::Collective::kAllreduce,
                                      "fused_one_shot",
                                      kSource,
                                      false,
                                      no_schedule,
                                      build,
                                      one_shot_cost,
                                      true};
constinit const Algorithm kTwoShot = {plan::Collective::kAllreduce,
                                      "fused_two_shot",
                                      kSource,
                                      false,
                                      no_schedule,
                                      build,
                                      two_shot_cost,
                                      true};
constinit const Algorithm* const kAll[] = {&kOneShot, &kTwoShot};

/// From starting the kernel to the host seeing its end; then a store to a peer and its arrival; and
/// what one kernel of few blocks moves and combines. To be measured.
constexpr double kLaunch = 5e-6;
constexpr double kHop = 1e-6;
constexpr double kSecondsPerByte = 1.0 / 50e9;

std::size_t most(const Algorithm* algorithm, const FusedFacts& facts) noexcept {
    return algorithm == &kOneShot ? facts.most_one_shot : facts.most_two_shot;
}

bool serves(const Algorithm* algorithm, const FusedFacts& facts, double bytes) noexcept {
    return facts.available && bytes > 0 && bytes <= static_cast<double>(most(algorithm, facts));
}

double seconds(const Cost& cost) noexcept {
    return kLaunch + cost.steps * kHop + (cost.bytes + cost.reduced) * kSecondsPerByte;
}

}  // namespace

std::vector<Candidate> fused_candidates(const Request& request, double bytes,
                                        const config::Params& params) {
    std::vector<Candidate> all;
    for (const Algorithm* algorithm : kAll) {
        if (request.collective != algorithm->collective || bytes == 0 || request.size < 2 ||
            several_nodes(request.node_of)) {
            continue;
        }
        Candidate one;
        one.algorithm = algorithm;
        one.cost = algorithm->cost(request, bytes);
        one.seconds = seconds(one.cost);
        const std::string_view word = wanted(request.collective, params);
        one.refusal = request.size > static_cast<int>(kernel::kFusedRanks)
                          ? "is for 16 ranks at most"
                      : word == algorithm->name || (word == "auto" && params.coll_fused)
                          ? nullptr
                          : "asked for by neither coll_beeline_fused nor its name";
        all.push_back(one);
    }
    return all;
}

std::span<const Algorithm* const> fused_algorithms() noexcept {
    return kAll;
}

bool is_fused(const Algorithm* algorithm) noexcept {
    return std::find(std::begin(kAll), std::end(kAll), algorithm) != std::end(kAll);
}

bool is_two_shot(const Algorithm* algorithm) noexcept {
    return algorithm == &kTwoShot;
}

const Algorithm* prefer_fused(std::string_view word, const FusedFacts& facts,
                              const Request& request, double bytes,
                              const Algorithm* schedule) noexcept {
    if (request.collective != plan::Collective::kAllreduce) {
        return nullptr;
    }
    const Algorithm* best = nullptr;
    double least = 0;
    for (const Algorithm* algorithm : kAll) {
        if (!serves(algorithm, facts, bytes)) {
            continue;
        }
        if (word == algorithm->name) {
            return algorithm;
        }
        const Cost cost = algorithm->cost(request, bytes);
        const double takes = seconds(cost);
        if (best == nullptr || takes < least) {
            best = algorithm;
            least = takes;
        }
    }
    if (best == nullptr || word != "auto") {
        return nullptr;
    }
    if (schedule == nullptr) {
        return best;
    }
    if (schedule->claims) {
        return nullptr;  // loaded by the user
    }
    const Cost cost = schedule->cost(request, bytes);
    return least < predict(cost, false, Model{}, Memory::kDevice) ? best : nullptr;
}

}  // namespace beeline::coll::select
