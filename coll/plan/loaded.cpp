// SPDX-License-Identifier: BSD-3-Clause
// Proofs of what a file's schedules serve.
#include "coll/plan/loaded.hpp"

#include <algorithm>
#include <cctype>

#include "coll/plan/transform.hpp"

namespace beeline::coll::plan {
namespace {

constexpr std::int32_t kMostChannel = 255;  // as many as the transports tell apart
constexpr std::size_t kLongestName = 48;

/// A method of Loaded as one that the table of algorithms takes.
template <auto kMethod, class Result, class... Arguments>
Result call(const void* object, Arguments... arguments) {
    return (static_cast<const Loaded*>(object)->*kMethod)(arguments...);
}

std::vector<Schedule> in_form(std::vector<Schedule> world, Cut cut, bool in_place) {
    for (Schedule& schedule : world) {
        schedule.cut = cut;
        schedule = turn_over(schedule, in_place);
    }
    return world;
}

/// Whether callers in place and others are served.
Verdict prove_cut(const std::vector<Schedule>& world, Cut cut) {
    Verdict verdict = validate(in_form(world, cut, false));
    if (verdict.ok() && world[0].collective != Collective::kReduceScatter) {
        verdict.problem = validate(in_form(world, cut, true)).problem;
    }
    return verdict;
}

/// The lengths of blocks that a rank cannot know may not matter to what it does: such collectives
/// are served where blocks are equal.
std::vector<Cut> cuts_of(Collective collective) {
    if (on_vector(collective)) {
        return {Cut::kEven};
    }
    if (collective == Collective::kAllgather || collective == Collective::kReduceScatter) {
        return {Cut::kEqual, Cut::kVarying, Cut::kScattered};
    }
    return {Cut::kEqual};
}

/// Of the busiest rank, for one byte of the vector or of a block.
Cost unit_cost(const std::vector<Schedule>& world, std::uint32_t depth) {
    Cost cost;
    cost.steps = depth;
    for (const Schedule& schedule : world) {
        const double whole =
            on_vector(schedule.collective) ? schedule.frame_chunks() : schedule.slices;
        double sends = 0;
        double receives = 0;
        double sent = 0;
        double reduced = 0;
        for (const Op& op : schedule.ops) {
            const bool reduces = op.kind == OpKind::kReduce || op.kind == OpKind::kReceiveReduce;
            sends += op.kind == OpKind::kSend ? 1 : 0;
            receives += op.kind == OpKind::kReceive || op.kind == OpKind::kReceiveReduce ? 1 : 0;
            sent += op.kind == OpKind::kSend ? op.count : 0;
            reduced += reduces ? op.count : 0;
        }
        cost.bytes = std::max(cost.bytes, sent / whole);
        cost.reduced = std::max(cost.reduced, reduced / whole);
        cost.messages = std::max({cost.messages, sends, receives});
    }
    return cost;
}

std::string check_channels(const std::vector<Schedule>& world) {
    for (const Schedule& schedule : world) {
        for (const Op& op : schedule.ops) {
            if (op.channel > kMostChannel) {
                return "channel " + std::to_string(op.channel) + " cannot be run; allowed: 0 to " +
                       std::to_string(kMostChannel);
            }
        }
    }
    return {};
}

}  // namespace

Loaded::Loaded(Collective collective, std::string name)
    : name_(std::move(name)),
      algorithm_{collective,
                 name_.c_str(),
                 "from a file",
                 false,
                 {call<&Loaded::refuses, const char*, const Request&>, this},
                 {call<&Loaded::build, Schedule, const Request&>, this},
                 {call<&Loaded::cost, Cost, const Request&, double>, this},
                 false,
                 {call<&Loaded::claims, bool, const Request&, double>, this}} {}

std::string Loaded::add(Imported imported) {
    for (Schedule& schedule : imported.world) {
        schedule.root = rooted(schedule.collective) ? schedule.root : 0;
    }
    const Schedule first = imported.world[0];
    if (on_neighbors(first.collective)) {
        return "what neighbours do follows from a communicator's topology; allowed: the other "
               "collectives";
    }
    for (const auto& other : worlds_) {
        const Schedule& known = other->schedules[0];
        if (known.size == first.size && known.root == first.root) {
            return "there is another schedule " + name_ + " for " + std::to_string(first.size) +
                   " ranks; allowed: another name";
        }
    }
    auto world = std::make_unique<World>();
    if (std::string problem = check_channels(imported.world); !problem.empty()) {
        return problem;
    }
    std::string problem;
    for (const Cut cut : cuts_of(first.collective)) {
        const Verdict verdict = prove_cut(imported.world, cut);
        world->cuts[static_cast<std::size_t>(cut)] = verdict.ok();
        if (verdict.ok() && world->cost.steps == 0) {
            world->cost = unit_cost(imported.world, verdict.depth);
        }
        problem = problem.empty() ? verdict.problem : problem;
    }
    if (std::none_of(world->cuts.begin(), world->cuts.end(), [](bool proved) { return proved; })) {
        return problem;
    }
    world->ordered = first.ordered;
    if (!world->ordered && reduces(first.collective)) {
        std::vector<Schedule> ordered = imported.world;
        for (Schedule& schedule : ordered) {
            schedule.ordered = true;
        }
        world->ordered = validate(ordered).ok();
    }
    world->schedules = std::move(imported.world);
    world->bytes = imported.bytes;
    other_ranks_ = worlds_.empty() ? "it is for " + std::to_string(first.size) + " ranks"
                                   : "it is for other numbers of ranks";
    worlds_.push_back(std::move(world));
    return {};
}

const Loaded::World* Loaded::find(const Request& request) const noexcept {
    for (const auto& world : worlds_) {
        const Schedule& first = world->schedules[0];
        if (first.size == request.size &&
            (!rooted(first.collective) || first.root == request.root)) {
            return world.get();
        }
    }
    return nullptr;
}

const char* Loaded::refuses(const Request& request) const noexcept {
    const World* world = find(request);
    if (world == nullptr) {
        const bool known = std::any_of(worlds_.begin(), worlds_.end(), [&](const auto& other) {
            return other->schedules[0].size == request.size;
        });
        return known ? "it is for another root" : other_ranks_.c_str();
    }
    const Cut cut = on_vector(request.collective) ? Cut::kEven : request.cut;
    if (!world->cuts[static_cast<std::size_t>(cut)]) {
        return "it is not proved for such blocks";
    }
    return request.commutative || world->ordered || !reduces(request.collective)
               ? nullptr
               : "the operation does not commute";
}

Schedule Loaded::build(const Request& request) const {
    const World& world = *find(request);
    Schedule schedule = world.schedules[static_cast<std::size_t>(request.rank)];
    schedule.algorithm = name_;
    schedule.ordered = world.ordered;
    schedule.cut = on_vector(request.collective) ? Cut::kEven : request.cut;
    return turn_over(schedule, request.in_place);
}

Cost Loaded::cost(const Request& request, double bytes) const noexcept {
    Cost cost = find(request)->cost;
    cost.bytes *= bytes;
    cost.reduced *= bytes;
    return cost;
}

bool Loaded::claims(const Request& request, double bytes) const noexcept {
    const World* world = find(request);
    return world != nullptr && world->bytes.has(static_cast<std::uint64_t>(bytes));
}

std::string name_of(const Imported& imported) {
    std::string name = imported.world[0].algorithm.substr(0, kLongestName);
    for (char& c : name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 && (c & 0x80) == 0;
        c = plain ? c : '_';
    }
    return name.empty() ? "imported" : name;
}

}  // namespace beeline::coll::plan
