// SPDX-License-Identifier: BSD-3-Clause
// One collective in detail.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/draw.hpp"
#include "coll/plan/imported.hpp"
#include "coll/plan/json.hpp"
#include "coll/plan/loaded.hpp"
#include "coll/plan/timeline.hpp"
#include "coll/plan/validate.hpp"
#include "coll/select/schedule_files.hpp"
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

/// The slices of the picture: as given, or as chosen.
plan::Request suited(plan::Request request, const ShowOptions& options, int chosen) {
    request.slices = options.slices > 0 ? options.slices : chosen;
    return request;
}

coll::select::Facts facts_of(const Case& shown, const ShowOptions& options) {
    coll::select::Facts facts;
    facts.request = shown.of(0);
    facts.bytes = static_cast<double>(options.bytes);
    return facts;
}

/// The algorithm to show, with its slices and why.
coll::select::Choice choose(const coll::select::Facts& facts, const ShowOptions& options,
                            const coll::select::Settings& settings) {
    coll::select::Choice choice;
    coll::select::Choice best;
    if (options.algorithm.empty()) {
        choice = coll::select::choose(facts, settings);
    }
    double least = std::numeric_limits<double>::infinity();
    for (const coll::select::Candidate& one : coll::select::candidates(facts, settings)) {
        if (choice.algorithm != nullptr || one.algorithm == nullptr) {
            continue;
        }
        if (options.algorithm == one.algorithm->name) {
            return {one.algorithm, one.slices, "asked for", 0};
        }
        // Host copies are no schedule that could be shown: the best of those beside them is.
        if (options.algorithm.empty() && one.refusal == nullptr && one.seconds < least) {
            least = one.seconds;
            best = {one.algorithm, one.slices, "the cheapest schedule", 0};
        }
    }
    return choice.algorithm != nullptr ? choice : best;
}

std::vector<plan::Schedule> build_world(const plan::Algorithm& algorithm, const Case& shown,
                                        const ShowOptions& options, int slices) {
    std::vector<plan::Schedule> world;
    for (int rank = 0; rank < options.ranks; ++rank) {
        world.push_back(algorithm.build(suited(shown.of(rank), options, slices)));
    }
    return world;
}

std::vector<plan::Schedule> named(std::vector<plan::Schedule> world, const std::string& name) {
    for (plan::Schedule& schedule : world) {
        schedule.algorithm = name.empty() ? schedule.algorithm : name;
    }
    return world;
}

/// Tells how a job would take a schedule that is proved.
void print_use(const plan::Imported& imported) {
    const plan::Collective collective = imported.world[0].collective;
    const std::string name = plan::name_of(imported);
    if (coll::select::refuse_word(collective, name, {}).empty()) {
        std::printf(
            "a job refuses it: %s is a word of coll_beeline_%s_algorithm; another name: "
            "--name NAME --json FILE\n",
            name.c_str(), to_string(collective));
        return;
    }
    plan::Loaded loaded(collective, name);
    const std::string problem = loaded.add(imported);
    if (!problem.empty()) {
        std::printf("a job refuses it: %s\n", problem.c_str());
        return;
    }
    plan::Request request;
    request.collective = collective;
    request.size = imported.world[0].size;
    request.root = imported.world[0].root;
    request.commutative = false;
    const char* refusal = plan::refuses(loaded.algorithm(), request);
    std::printf("a job loads it as %s, for ", name.c_str());
    if (imported.bytes.greatest == UINT64_MAX) {
        std::printf("%llu bytes and above", static_cast<unsigned long long>(imported.bytes.least));
    } else {
        std::printf("%llu to %llu bytes", static_cast<unsigned long long>(imported.bytes.least),
                    static_cast<unsigned long long>(imported.bytes.greatest));
    }
    std::printf("%s\n", refusal == nullptr || !plan::reduces(collective)
                            ? ""
                            : ", operations that commute");
}

void print_steps(const std::vector<plan::Schedule>& world, int rank, bool loops) {
    for (const plan::Schedule& schedule : world) {
        if (rank < 0 || schedule.rank == rank) {
            std::printf("\n%s", (loops ? print_loops(schedule) : print(schedule)).c_str());
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
    coll::select::Tuning tuning;
    coll::select::ScheduleFiles files;
    files.load(options.schedules);
    for (const std::string& problem : files.problems()) {
        complain(problem);
    }
    if (!files.problems().empty()) {
        return 2;
    }
    files.offer(tuning);
    if (!options.tuning.empty()) {
        const std::string problem = coll::select::load(options.tuning.c_str(), tuning);
        if (!problem.empty()) {
            complain(problem);
            return 2;
        }
    }
    config::Params params;
    params.coll_memory = options.memory == "host" ? 1 : 0;
    const coll::select::Settings settings{&params, &tuning};
    const coll::select::Facts facts = facts_of(shown, options);
    std::printf("%s of %zu bytes on %d ranks\n\n%s", options.collective.c_str(), options.bytes,
                options.ranks, coll::select::explain(facts, settings).c_str());
    const coll::select::Choice choice = choose(facts, options, settings);
    const plan::Algorithm* chosen = choice.algorithm;
    if (chosen == nullptr) {
        complain("there is no such algorithm, or none serves this");
        return 2;
    }
    if (const char* refusal = plan::refuses(*chosen, shown.of(0))) {
        complain(std::string(chosen->name) + ": " + refusal);
        return 2;
    }
    const std::vector<plan::Schedule> world = build_world(*chosen, shown, options, choice.slices);
    const plan::Verdict verdict = plan::validate(world, shown.neighbors);
    const plan::Timeline timeline = plan::simulate(
        world, options.bytes, coll::select::rates_of(facts.request.node_of, settings));
    std::printf("\nshown: %s (%s), %u slices: %s\n", chosen->name, chosen->source, world[0].slices,
                choice.reason);
    std::printf("proof: %s; %llu ops, %llu messages, %u after one another; simulated %.2f us\n",
                verdict.ok() ? "holds" : verdict.problem.c_str(),
                static_cast<unsigned long long>(verdict.ops),
                static_cast<unsigned long long>(verdict.messages), verdict.depth,
                timeline.end * 1e6);
    print_steps(world, options.rank, !options.unrolled);
    const std::string title = options.collective + ", " + chosen->name + ", " +
                              std::to_string(options.ranks) + " ranks, " +
                              std::to_string(options.bytes) + " bytes";
    const bool written =
        (options.svg.empty() || write_file(options.svg, plan::draw(world, timeline, title))) &&
        (options.json.empty() ||
         write_file(options.json, plan::to_json(named(world, options.name), shown.neighbors)));
    return written && verdict.ok() ? 0 : 1;
}

int check(const CheckOptions& options) {
    std::string text;
    if (const std::string problem =
            coll::select::read_file(options.file.c_str(), plan::kMostImportedBytes, text);
        !problem.empty()) {
        complain(problem);
        return 2;
    }
    plan::Imported imported = plan::import_text(text);
    if (!imported.ok()) {
        std::printf("refused: %s\n", imported.problem.c_str());
        return 1;
    }
    imported.world = named(std::move(imported.world), options.name);
    const plan::Schedule& first = imported.world[0];
    std::printf("proved: %s %s of %d ranks\n", to_string(first.collective), first.algorithm.c_str(),
                first.size);
    print_use(imported);
    const config::Params params;
    const coll::select::Tuning tuning;
    const plan::Timeline timeline = plan::simulate(imported.world, options.bytes,
                                                   coll::select::rates_of({}, {&params, &tuning}));
    const std::string title = std::string(to_string(first.collective)) + ", " + first.algorithm;
    const bool written = (options.svg.empty() ||
                          write_file(options.svg, plan::draw(imported.world, timeline, title))) &&
                         (options.json.empty() ||
                          write_file(options.json, plan::to_json(imported.world, imported.neighbors,
                                                                 imported.bytes)));
    return written ? 0 : 2;
}

}  // namespace beeline::tool
