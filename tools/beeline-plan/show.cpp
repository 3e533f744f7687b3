// SPDX-License-Identifier: BSD-3-Clause
// One collective in detail.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/draw.hpp"
#include "coll/plan/json.hpp"
#include "coll/plan/timeline.hpp"
#include "coll/plan/validate.hpp"
#include "coll/select/select.hpp"
#include "tools/beeline-plan/plan.hpp"

namespace beeline::tool {
namespace {

namespace plan = coll::plan;

void complain(const std::string& what) {
    std::fprintf(stderr, "beeline-plan: %s\n", what.c_str());
}

/// A request with what its spans point to.
struct Case {
    plan::Request request;
    std::vector<int> node_of;
    std::vector<plan::Neighbors> neighbors;

    plan::Request of(int rank) const {
        plan::Request here = request;
        here.rank = rank;
        if (!neighbors.empty()) {
            const plan::Neighbors& own = neighbors[static_cast<std::size_t>(rank)];
            here.sources = own.sources;
            here.targets = own.targets;
        }
        return here;
    }
};

/// Neighbours for a picture: both on a ring.
void set_ring(Case& shown) {
    const int size = shown.request.size;
    for (int rank = 0; size > 1 && rank < size; ++rank) {
        const int left = (rank + size - 1) % size;
        const int right = (rank + 1) % size;
        shown.neighbors.push_back({{{left, 0}, {right, 1}}, {{right, 0}, {left, 1}}});
    }
}

bool make_case(const ShowOptions& options, Case& shown) {
    plan::Request& request = shown.request;
    if (!plan::find(options.collective, request.collective)) {
        complain("no collective \"" + options.collective + "\"");
        return false;
    }
    request.size = options.ranks;
    request.root = options.root;
    request.in_place = options.in_place;
    request.commutative = options.commutative;
    request.slices = std::max(1, options.slices);
    for (std::size_t node = 0; node < options.nodes.size(); ++node) {
        if (options.nodes[node] < 1 || options.nodes[node] > options.ranks) {
            complain("a node has from 1 to all ranks");
            return false;
        }
        shown.node_of.insert(shown.node_of.end(), static_cast<std::size_t>(options.nodes[node]),
                             static_cast<int>(node));
    }
    request.node_of = shown.node_of;
    if (plan::on_neighbors(request.collective)) {
        set_ring(shown);
        shown.neighbors.resize(static_cast<std::size_t>(options.ranks));
    }
    return true;
}

double predicted(const plan::Cost& cost, const plan::Rates& rates) {
    return (cost.steps + cost.across_steps) * rates.latency +
           (cost.bytes + cost.across_bytes) / rates.bandwidth + cost.reduced / rates.reduction;
}

/// The request with the slices that suit `algorithm` best by its costs, unless they were given.
plan::Request suited(const plan::Algorithm& algorithm, plan::Request request,
                     const ShowOptions& options) {
    const auto bytes = static_cast<double>(options.bytes);
    plan::Request best = request;
    for (int slices = 2; options.slices == 0 && algorithm.pipelines && slices <= 64; slices *= 2) {
        request.slices = slices;
        if (predicted(algorithm.cost(request, bytes), plan::Rates{}) <
            predicted(algorithm.cost(best, bytes), plan::Rates{})) {
            best = request;
        }
    }
    return best;
}

/// Prints all candidates and returns the one of the least predicted time.
const plan::Algorithm* print_candidates(const Case& shown, const ShowOptions& options,
                                        const plan::Rates& rates) {
    const plan::Algorithm* best = nullptr;
    double least = 0;
    const auto bytes = static_cast<double>(options.bytes);
    std::printf("%-20s %8s %14s %14s %12s\n", "candidate", "steps", "bytes sent", "bytes reduced",
                "predicted us");
    for (const plan::Algorithm* algorithm : plan::algorithms(shown.request.collective)) {
        const plan::Request request = suited(*algorithm, shown.of(0), options);
        if (const char* refusal = refuses(*algorithm, request)) {
            std::printf("%-20s refused: %s\n", algorithm->name, refusal);
            continue;
        }
        const plan::Cost cost = algorithm->cost(request, bytes);
        const double time = predicted(cost, rates);
        std::printf("%-20s %8.0f %14.0f %14.0f %12.2f\n", algorithm->name,
                    cost.steps + cost.across_steps, cost.bytes + cost.across_bytes, cost.reduced,
                    time * 1e6);
        if (best == nullptr || time < least) {
            best = algorithm;
            least = time;
        }
    }
    return best;
}

/// The algorithm to show, and why.
const plan::Algorithm* choose(const Case& shown, const ShowOptions& options,
                              const plan::Algorithm* best, std::string& reason) {
    if (!options.algorithm.empty()) {
        reason = "asked for";
        return plan::find(shown.request.collective, options.algorithm);
    }
    coll::select::Facts facts;
    facts.request = shown.of(0);
    facts.bytes = static_cast<double>(options.bytes);
    const coll::select::Choice choice = coll::select::choose(facts, config::params());
    if (choice.algorithm != nullptr) {
        reason = choice.reason;
        return choice.algorithm;
    }
    reason = "the least predicted time";
    return best;
}

std::vector<plan::Schedule> build_world(const plan::Algorithm& algorithm, const Case& shown,
                                        const ShowOptions& options) {
    std::vector<plan::Schedule> world;
    for (int rank = 0; rank < options.ranks; ++rank) {
        world.push_back(algorithm.build(suited(algorithm, shown.of(rank), options)));
    }
    return world;
}

void print_steps(const std::vector<plan::Schedule>& world, int rank) {
    for (const plan::Schedule& schedule : world) {
        if (rank < 0 || schedule.rank == rank) {
            std::printf("\n%s", print(schedule).c_str());
        }
    }
}

}  // namespace

bool write_file(const std::string& file, const std::string& text) {
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        complain("can't write " + file);
        return false;
    }
    return true;
}

int show(const ShowOptions& options) {
    Case shown;
    if (!make_case(options, shown)) {
        return 2;
    }
    const plan::Rates rates;
    std::printf("%s of %zu bytes on %d ranks\n\n", options.collective.c_str(), options.bytes,
                options.ranks);
    const plan::Algorithm* best = print_candidates(shown, options, rates);
    std::string reason;
    const plan::Algorithm* chosen = choose(shown, options, best, reason);
    if (chosen == nullptr) {
        complain("there is no such algorithm, or none serves this");
        return 2;
    }
    if (const char* refusal = plan::refuses(*chosen, shown.of(0))) {
        complain(std::string(chosen->name) + ": " + refusal);
        return 2;
    }
    const std::vector<plan::Schedule> world = build_world(*chosen, shown, options);
    const plan::Verdict verdict = plan::validate(world, shown.neighbors);
    const plan::Timeline timeline = plan::simulate(world, options.bytes, rates);
    std::printf("\nchosen: %s (%s), %u slices: %s\n", chosen->name, chosen->source, world[0].slices,
                reason.c_str());
    std::printf("proof: %s; %llu ops, %llu messages, %u after one another; simulated %.2f us\n",
                verdict.ok() ? "holds" : verdict.problem.c_str(),
                static_cast<unsigned long long>(verdict.ops),
                static_cast<unsigned long long>(verdict.messages), verdict.depth,
                timeline.end * 1e6);
    print_steps(world, options.rank);
    const std::string title = options.collective + ", " + chosen->name + ", " +
                              std::to_string(options.ranks) + " ranks, " +
                              std::to_string(options.bytes) + " bytes";
    const bool written =
        (options.svg.empty() || write_file(options.svg, plan::draw(world, timeline, title))) &&
        (options.json.empty() || write_file(options.json, plan::to_json(world, shown.neighbors)));
    return written && verdict.ok() ? 0 : 1;
}

int check(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) {
        complain("can't read " + file);
        return 2;
    }
    const plan::Imported imported = plan::from_json(text.str());
    if (!imported.ok()) {
        std::printf("refused: %s\n", imported.problem.c_str());
        return 1;
    }
    const plan::Schedule& first = imported.world[0];
    std::printf("proved: %s %s of %d ranks\n", to_string(first.collective), first.algorithm.c_str(),
                first.size);
    return 0;
}

}  // namespace beeline::tool
