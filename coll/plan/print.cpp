// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text.
#include <cstdio>

#include "coll/plan/loops.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {
namespace {

/// "5", or in turn k of a loop "5 + k", "5 - 2k".
std::string print(std::int64_t value, std::int64_t stride = 0) {
    std::string text = std::to_string(value);
    if (stride != 0) {
        const std::int64_t size = stride < 0 ? -stride : stride;
        text += stride < 0 ? " - " : " + ";
        text += (size == 1 ? "" : std::to_string(size)) + 'k';
    }
    return text;
}

std::string print(const Place& place, std::uint32_t count, std::int32_t stride) {
    const std::string first = print(place.chunk, stride);
    return std::string(to_string(place.buffer)) + '[' + first +
           (count == 1 ? "]" : ".." + print(std::int64_t{place.chunk} + count, stride) + ')');
}

std::string print(const Op& op, const Stride& stride) {
    const bool empty = op.count == 0;
    const std::string peer = print(op.peer, stride.peer) + " on " + std::to_string(op.channel);
    const std::string source = print(op.source, op.count, stride.source);
    const std::string second = print(op.second, op.count, stride.second);
    const std::string target = print(op.target, op.count, stride.target);
    switch (op.kind) {
        case OpKind::kSend:
            return "send " + (empty ? "nothing" : source) + " to " + peer;
        case OpKind::kReceive:
            return "receive " + (empty ? "nothing" : target) + " from " + peer;
        case OpKind::kCopy:
            return "copy " + target + " = " + source;
        case OpKind::kReduce:
            return "reduce " + target + " = " + source + " (op) " + second +
                   (op.joined ? ", joined" : "");
        case OpKind::kReceiveReduce: {
            const std::string message = "message from " + peer;
            return "receive_reduce " + target + " = " +
                   (op.second_first ? second + " (op) " + message : message + " (op) " + second);
        }
    }
    return "?";
}

/// One line.
std::string print(const Schedule& schedule, std::size_t number, const Stride& stride) {
    const Op& op = schedule.ops[number];
    char text[24];
    std::snprintf(text, sizeof text, "%4zu ", number);
    std::string out = text + print(op, stride);
    const auto after = schedule.after(op);
    for (std::size_t index = 0; index < after.size(); ++index) {
        out += index == 0 ? " after " : ",";
        out += print(after[index], stride.after.empty() ? 0 : stride.after[index]);
    }
    if (op.phase < schedule.phases.size()) {
        out += "  (" + schedule.phases[op.phase] + ")";
    }
    return out + '\n';
}

/// What there is to say of all ops.
std::string print_head(const Schedule& schedule) {
    char text[200];
    std::snprintf(text, sizeof text,
                  " rank %d of %d%s: %u chunks %s, %u mirrors, %u slots, %zu ops\n", schedule.rank,
                  schedule.size, schedule.in_place ? " in place" : "", schedule.frame_chunks(),
                  to_string(schedule.cut), schedule.mirrors, schedule.slots, schedule.ops.size());
    return std::string(to_string(schedule.collective)) + ' ' + schedule.algorithm + text;
}

}  // namespace

std::string print(const Schedule& schedule) {
    std::string out = print_head(schedule);
    for (std::size_t number = 0; number < schedule.ops.size(); ++number) {
        out += print(schedule, number, {});
    }
    return out;
}

std::string print_loops(const Schedule& schedule) {
    std::string out = print_head(schedule);
    char text[80];
    std::uint32_t number = 0;
    const auto print_to = [&](std::uint32_t end) {
        for (; number < end; ++number) {
            out += print(schedule, number, {});
        }
    };
    for (const Loop& loop : find_loops(schedule)) {
        print_to(loop.first);
        std::snprintf(text, sizeof text, "%4u..%u in turns k = 0..%u:\n", loop.first,
                      loop.end() - 1, loop.turns - 1);
        out += text;
        for (const Stride& stride : loop.strides) {
            out += "  " + print(schedule, number++, stride);
        }
        number = loop.end();
    }
    print_to(static_cast<std::uint32_t>(schedule.ops.size()));
    return out;
}

}  // namespace beeline::coll::plan
