// SPDX-License-Identifier: BSD-3-Clause
// JSON documents of schedules: reading.
#include "coll/plan/json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "coll/plan/json_format.hpp"
#include "coll/plan/loops.hpp"

namespace beeline::coll::plan {
namespace {

using nlohmann::json;

// What a document may have at most; a proof of the largest takes seconds.
constexpr int kMostDepth = 10;
constexpr std::uint64_t kMostRanks = 4096;
constexpr std::uint64_t kMostChunks = 1 << 24;  ///< of all ranks
constexpr std::uint64_t kMostOps = 1 << 22;     ///< of all ranks
constexpr std::uint64_t kMostAfters = 1 << 24;  ///< of all ranks
constexpr std::uint64_t kMostNumber = 1 << 30;

/// A document that is not as described; caught at the door.
struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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

/// An op, and what it waits for.
struct ReadOp {
    Op op;
    std::vector<std::int32_t> after;
};

ReadOp read_op(const json& from, std::uint64_t most_after) {
    ReadOp read;
    Op& op = read.op;
    op.kind = word<OpKind>(text_of(field(from, "op"), "op"), kOpKinds, "op");
    op.count = number(field(from, "count"), "count");
    if (is_message(op.kind)) {
        op.peer = index_of(from, "peer");
        op.channel = index_of(from, "channel");
    }
    if (reads_source(op.kind) && op.count > 0) {
        op.source = read_place(from, "source");
    }
    if (reads_second(op.kind)) {
        op.second = read_place(from, "second");
    }
    op.second_first = op.kind == OpKind::kReceiveReduce && truth(from, "second_first");
    if (op.kind != OpKind::kSend && op.count > 0) {
        op.target = read_place(from, "target");
    }
    if (from.contains("phase")) {
        op.phase = static_cast<std::uint8_t>(index_of(from, "phase", 255));
    }
    if (from.contains("after")) {
        for (const json& before : list(from, "after", most_after)) {
            read.after.push_back(static_cast<std::int32_t>(number(before, "after")));
        }
    }
    return read;
}

std::int32_t signed_number(const json& value, const char* name) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (!value.is_number_integer() || value.get<std::int64_t>() < -kMost ||
        value.get<std::int64_t>() > kMost) {
        throw Malformed(std::string("\"") + name + "\" does not step by a whole number");
    }
    return value.get<std::int32_t>();
}

/// How an op of a loop of `ops` moves on; what is not said stays, and what it waits for moves
/// along.
Stride read_stride(const json& from, std::size_t ops, std::size_t afters) {
    Stride stride;
    stride.after.assign(afters, static_cast<std::int32_t>(ops));
    if (!from.contains("step")) {
        return stride;
    }
    const json& step = field(from, "step");
    const auto read = [&](const char* name, std::int32_t& number) {
        if (step.contains(name)) {
            number = signed_number(step[name], name);
        }
    };
    read("peer", stride.peer);
    read("source", stride.source);
    read("second", stride.second);
    read("target", stride.target);
    read("source_like", stride.source_like);
    read("second_like", stride.second_like);
    read("target_like", stride.target_like);
    if (step.contains("after")) {
        stride.after.clear();
        for (const json& by : list(step, "after", afters)) {
            stride.after.push_back(signed_number(by, "after"));
        }
        if (stride.after.size() != afters) {
            throw Malformed("a \"step\" does not say for each \"after\" how it moves");
        }
    }
    return stride;
}

/// Counts what has been read, against the bounds.
struct Budget {
    std::uint64_t chunks = 0;
    std::uint64_t ops = 0;
    std::uint64_t afters = 0;
};

void append_read(Schedule& schedule, const ReadOp& read, Budget& budget) {
    budget.afters += read.after.size();
    if (++budget.ops > kMostOps || budget.afters > kMostAfters) {
        throw Malformed("there are too many ops");
    }
    append(schedule, read.op, read.after);
}

/// A loop, turn by turn.
void read_loop(const json& from, Schedule& schedule, Budget& budget) {
    const std::uint32_t turns = number(field(from, "turns"), "turns", kMostOps);
    const json& ops = list(from, "ops", kMostOps);
    std::vector<ReadOp> body;
    std::vector<Stride> strides;
    for (const json& op : ops) {
        body.push_back(read_op(op, schedule.ops.size() + ops.size()));
        strides.push_back(read_stride(op, ops.size(), body.back().after.size()));
    }
    if (std::uint64_t{turns} * body.size() > kMostOps - budget.ops) {
        throw Malformed("there are too many ops");
    }
    ReadOp now;
    for (std::uint32_t turn = 0; turn < turns && !body.empty(); ++turn) {
        for (std::size_t index = 0; index < body.size(); ++index) {
            now.op = in_turn(schedule, body[index].op, body[index].after, strides[index], turn,
                             now.after);
            append_read(schedule, now, budget);
        }
    }
}

void read_ops(const json& from, Schedule& schedule, Budget& budget) {
    for (const json& op : list(from, "ops", kMostOps)) {
        if (text_of(field(op, "op"), "op") == kRepeat) {
            read_loop(op, schedule, budget);
        } else {
            append_read(schedule, read_op(op, schedule.ops.size()), budget);
        }
    }
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
    read_ops(from, schedule, budget);
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

Imported from_json(std::string_view text) noexcept {
    return import_proved([text](Imported& imported) {
        if (text.size() > kMostImportedBytes || too_deep(text)) {
            throw Malformed("it is too long or nested too deep");
        }
        read(json::parse(text), imported);
    });
}

}  // namespace beeline::coll::plan
