// SPDX-License-Identifier: BSD-3-Clause
// JSON documents of schedules: writing.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "coll/plan/json.hpp"
#include "coll/plan/json_format.hpp"
#include "coll/plan/loops.hpp"

namespace beeline::coll::plan {
namespace {

using nlohmann::json;

json place_json(const Place& place) {
    if (place.buffer == Buffer::kSlot) {
        return {to_string(place.buffer), place.chunk, place.like};
    }
    return {to_string(place.buffer), place.chunk};
}

json op_json(const Schedule& schedule, const Op& op) {
    json out = {{"op", to_string(op.kind)}, {"count", op.count}};
    if (is_message(op.kind)) {
        out["peer"] = op.peer;
        out["channel"] = op.channel;
    }
    if (reads_source(op.kind) && op.count > 0) {
        out["source"] = place_json(op.source);
    }
    if (reads_second(op.kind)) {
        out["second"] = place_json(op.second);
    }
    if (op.kind == OpKind::kReceiveReduce) {
        out["second_first"] = op.second_first;
    }
    if (op.kind != OpKind::kSend && op.count > 0) {
        out["target"] = place_json(op.target);
    }
    if (op.phase < schedule.phases.size()) {
        out["phase"] = op.phase;
    }
    if (op.afters > 0) {
        out["after"] = schedule.after(op);
    }
    return out;
}

json edges_json(const std::vector<Edge>& edges) {
    json out = json::array();
    for (const Edge& edge : edges) {
        out.push_back({edge.peer, edge.channel});
    }
    return out;
}

/// What moves in a loop of so many ops; what does not is left out.
json stride_json(const Stride& stride, std::size_t ops) {
    json out = json::object();
    const std::pair<const char*, std::int32_t> numbers[] = {
        {"peer", stride.peer},
        {"source", stride.source},
        {"second", stride.second},
        {"target", stride.target},
        {"source_like", stride.source_like},
        {"second_like", stride.second_like},
        {"target_like", stride.target_like},
    };
    for (const auto& [name, number] : numbers) {
        if (number != 0) {
            out[name] = number;
        }
    }
    const auto moves_along = [ops](std::int32_t by) { return by == static_cast<int>(ops); };
    if (!std::all_of(stride.after.begin(), stride.after.end(), moves_along)) {
        out["after"] = stride.after;
    }
    return out;
}

json loop_json(const Schedule& schedule, const Loop& loop) {
    json ops = json::array();
    for (const Stride& stride : loop.strides) {
        ops.push_back(op_json(schedule, schedule.ops[loop.first + ops.size()]));
        json step = stride_json(stride, loop.strides.size());
        if (!step.empty()) {
            ops.back()["step"] = std::move(step);
        }
    }
    return {{"op", kRepeat}, {"turns", loop.turns}, {"ops", std::move(ops)}};
}

json rank_json(const Schedule& schedule) {
    json ops = json::array();
    std::size_t number = 0;
    const auto write_to = [&](std::size_t end) {
        for (; number < end; ++number) {
            ops.push_back(op_json(schedule, schedule.ops[number]));
        }
    };
    for (const Loop& loop : find_loops(schedule)) {
        write_to(loop.first);
        ops.push_back(loop_json(schedule, loop));
        number = loop.end();
    }
    write_to(schedule.ops.size());
    return {{"rank", schedule.rank},
            {"in_place", schedule.in_place},
            {"input_blocks", schedule.input_blocks},
            {"output_blocks", schedule.output_blocks},
            {"frame_blocks", schedule.frame_blocks},
            {"mirrors", schedule.mirrors},
            {"slots", schedule.slots},
            {"phases", schedule.phases},
            {"ops", std::move(ops)}};
}

}  // namespace

std::string to_json(std::span<const Schedule> world, std::span<const Neighbors> neighbors,
                    const Range& bytes) {
    const Schedule& first = world[0];
    json document = {{"format", kFormat},
                     {"version", kVersion},
                     {"collective", to_string(first.collective)},
                     {"algorithm", first.algorithm},
                     {"ranks", first.size},
                     {"root", first.root},
                     {"ordered", first.ordered},
                     {"cut", to_string(first.cut)},
                     {"slices", first.slices}};
    if (bytes.least > 0) {
        document["least_bytes"] = bytes.least;
    }
    if (bytes.greatest < UINT64_MAX) {
        document["greatest_bytes"] = bytes.greatest;
    }
    json& schedules = document["schedules"] = json::array();
    for (const Schedule& schedule : world) {
        schedules.push_back(rank_json(schedule));
    }
    if (!neighbors.empty()) {
        json& list = document["neighbors"] = json::array();
        for (const Neighbors& here : neighbors) {
            list.push_back(
                {{"sources", edges_json(here.sources)}, {"targets", edges_json(here.targets)}});
        }
    }
    return document.dump(1) + '\n';
}

}  // namespace beeline::coll::plan
