// SPDX-License-Identifier: BSD-3-Clause
// JSON documents of schedules.
#include "coll/plan/json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace beeline::coll::plan {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "beeline-schedule";
constexpr int kVersion = 1;

// What a document may have at most; a proof of the largest takes seconds.
constexpr int kMostDepth = 8;
constexpr std::uint64_t kMostRanks = 4096;
constexpr std::uint64_t kMostChunks = 1 << 24;  ///< of all ranks
constexpr std::uint64_t kMostOps = 1 << 22;     ///< of all ranks
constexpr std::uint64_t kMostNumber = 1 << 30;

/// A document that is not as described; caught at the door.
struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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
    const bool reads =
        op.kind == OpKind::kSend || op.kind == OpKind::kCopy || op.kind == OpKind::kReduce;
    if (reads && op.count > 0) {
        out["source"] = place_json(op.source);
    }
    if (op.kind == OpKind::kReduce || op.kind == OpKind::kReceiveReduce) {
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

json rank_json(const Schedule& schedule) {
    json ops = json::array();
    for (const Op& op : schedule.ops) {
        ops.push_back(op_json(schedule, op));
    }
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

// --- reading

const json& field(const json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end()) {
        throw Malformed(std::string("there is no \"") + name + '"');
    }
    return *found;
}

std::uint32_t number(const json& value, const char* name, std::uint64_t most = kMostNumber) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
        throw Malformed(std::string("\"") + name + "\" is not a number from 0 to " +
                        std::to_string(most));
    }
    return value.get<std::uint32_t>();
}

std::int32_t index_of(const json& object, const char* name, std::uint64_t most = kMostNumber) {
    return static_cast<std::int32_t>(number(field(object, name), name, most));
}

/// A number of bytes that need not be there.
std::uint64_t bytes_of(const json& document, const char* name, std::uint64_t otherwise) {
    const auto found = document.find(name);
    if (found == document.end()) {
        return otherwise;
    }
    if (!found->is_number_unsigned()) {
        throw Malformed(std::string("\"") + name + "\" is not a number from 0");
    }
    return found->get<std::uint64_t>();
}

bool truth(const json& object, const char* name) {
    const json& value = field(object, name);
    if (!value.is_boolean()) {
        throw Malformed(std::string("\"") + name + "\" is not true or false");
    }
    return value.get<bool>();
}

std::string text_of(const json& value, const char* name) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > 100) {
        throw Malformed(std::string("\"") + name + "\" is not a short text");
    }
    return value.get<std::string>();
}

const json& list(const json& object, const char* name, std::uint64_t most) {
    const json& value = field(object, name);
    if (!value.is_array() || value.size() > most) {
        throw Malformed(std::string("\"") + name + "\" is not a list of up to " +
                        std::to_string(most));
    }
    return value;
}

/// The value whose word the text is.
template <class Enum>
Enum word(const std::string& text, int values, const char* name) {
    for (int value = 0; value < values; ++value) {
        if (text == to_string(static_cast<Enum>(value))) {
            return static_cast<Enum>(value);
        }
    }
    throw Malformed(std::string("\"") + name + "\" can't be \"" + text + '"');
}

Place read_place(const json& op, const char* name) {
    const json& value = list(op, name, 3);
    if (value.size() < 2) {
        throw Malformed(std::string("\"") + name + "\" is not a place");
    }
    Place place;
    place.buffer = word<Buffer>(text_of(value[0], name), kBuffers, name);
    place.chunk = number(value[1], name);
    place.like = value.size() > 2 ? number(value[2], name) : 0;
    return place;
}

void read_op(const json& from, Schedule& schedule) {
    Op op;
    op.kind = word<OpKind>(text_of(field(from, "op"), "op"), kOpKinds, "op");
    op.count = number(field(from, "count"), "count");
    if (is_message(op.kind)) {
        op.peer = index_of(from, "peer");
        op.channel = index_of(from, "channel");
    }
    const bool reads =
        op.kind == OpKind::kSend || op.kind == OpKind::kCopy || op.kind == OpKind::kReduce;
    if (reads && op.count > 0) {
        op.source = read_place(from, "source");
    }
    if (op.kind == OpKind::kReduce || op.kind == OpKind::kReceiveReduce) {
        op.second = read_place(from, "second");
    }
    op.second_first = op.kind == OpKind::kReceiveReduce && truth(from, "second_first");
    if (op.kind != OpKind::kSend && op.count > 0) {
        op.target = read_place(from, "target");
    }
    if (from.contains("phase")) {
        op.phase = static_cast<std::uint8_t>(index_of(from, "phase", 255));
    }
    std::vector<std::int32_t> after;
    if (from.contains("after")) {
        for (const json& before : list(from, "after", schedule.ops.size())) {
            after.push_back(static_cast<std::int32_t>(number(before, "after")));
        }
    }
    append(schedule, op, after);
}

std::vector<Edge> read_edges(const json& object, const char* name) {
    std::vector<Edge> edges;
    for (const json& edge : list(object, name, kMostRanks * 4)) {
        if (!edge.is_array() || edge.size() != 2) {
            throw Malformed(std::string("\"") + name + "\" is not a list of edges");
        }
        edges.push_back({static_cast<int>(number(edge[0], name, kMostRanks)),
                         static_cast<int>(number(edge[1], name))});
    }
    return edges;
}

/// Counts what has been read, against the bounds.
struct Budget {
    std::uint64_t chunks = 0;
    std::uint64_t ops = 0;
};

Schedule read_rank(const json& from, Schedule schedule, Budget& budget) {
    schedule.rank = index_of(from, "rank", kMostRanks);
    schedule.in_place = truth(from, "in_place");
    schedule.input_blocks = number(field(from, "input_blocks"), "input_blocks", kMostChunks);
    schedule.output_blocks = number(field(from, "output_blocks"), "output_blocks", kMostChunks);
    schedule.frame_blocks = number(field(from, "frame_blocks"), "frame_blocks", kMostChunks);
    schedule.mirrors = number(field(from, "mirrors"), "mirrors", kMostChunks);
    schedule.slots = number(field(from, "slots"), "slots", kMostChunks);
    const std::uint64_t frame = std::uint64_t{schedule.frame_blocks} * schedule.slices;
    budget.chunks += frame;
    if (frame > kMostChunks || schedule.mirrors * frame > kMostChunks) {
        throw Malformed("there are too many chunks");
    }
    budget.chunks +=
        schedule.mirrors * frame + schedule.slots +
        (std::uint64_t{schedule.input_blocks} + schedule.output_blocks) * schedule.slices;
    if (budget.chunks > kMostChunks) {
        throw Malformed("there are too many chunks");
    }
    for (const json& phase : list(from, "phases", 255)) {
        schedule.phases.push_back(text_of(phase, "phases"));
    }
    for (const json& op : list(from, "ops", kMostOps)) {
        if (++budget.ops > kMostOps) {
            throw Malformed("there are too many ops");
        }
        read_op(op, schedule);
    }
    return schedule;
}

void read(const json& document, Imported& imported) {
    if (text_of(field(document, "format"), "format") != kFormat ||
        index_of(document, "version") != kVersion) {
        throw Malformed("it is not a beeline-schedule of version 1");
    }
    Schedule common;
    common.collective = word<Collective>(text_of(field(document, "collective"), "collective"),
                                         kCollectives, "collective");
    common.algorithm = text_of(field(document, "algorithm"), "algorithm");
    common.size = index_of(document, "ranks", kMostRanks);
    common.root = index_of(document, "root", kMostRanks);
    common.ordered = truth(document, "ordered");
    common.cut = word<Cut>(text_of(field(document, "cut"), "cut"), 4, "cut");
    common.slices = number(field(document, "slices"), "slices", kMostChunks);
    imported.bytes.least = bytes_of(document, "least_bytes", 0);
    imported.bytes.greatest = bytes_of(document, "greatest_bytes", UINT64_MAX);
    if (imported.bytes.least > imported.bytes.greatest) {
        throw Malformed("\"least_bytes\" is more than \"greatest_bytes\"");
    }
    Budget budget;
    const json& ranks = list(document, "schedules", kMostRanks);
    if (ranks.size() != static_cast<std::size_t>(common.size) || ranks.empty()) {
        throw Malformed("there is not a schedule for each rank");
    }
    for (const json& rank : ranks) {
        imported.world.push_back(read_rank(rank, common, budget));
    }
    if (on_neighbors(common.collective)) {
        for (const json& here : list(document, "neighbors", kMostRanks)) {
            imported.neighbors.push_back(
                {read_edges(here, "sources"), read_edges(here, "targets")});
        }
    }
}

/// Refuses what is nested deeper than any document is, before it is parsed.
bool too_deep(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            at += c == '\\' ? 1 : 0;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMostDepth) {
                return true;
            }
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
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

Imported from_json(std::string_view text) noexcept {
    return import_proved([text](Imported& imported) {
        if (text.size() > kMostImportedBytes || too_deep(text)) {
            throw Malformed("it is too long or nested too deep");
        }
        read(json::parse(text), imported);
    });
}

}  // namespace beeline::coll::plan
