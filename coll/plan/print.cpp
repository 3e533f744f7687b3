// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text.
#include <cstdio>

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {
namespace {

std::string print(const Place& place, std::uint32_t count) {
    char text[80];
    if (count == 1) {
        std::snprintf(text, sizeof text, "%s[%u]", to_string(place.buffer), place.chunk);
    } else {
        std::snprintf(text, sizeof text, "%s[%u..%u)", to_string(place.buffer), place.chunk,
                      place.chunk + count);
    }
    return text;
}

std::string print(const Op& op) {
    char text[80];
    const bool empty = op.count == 0;
    switch (op.kind) {
        case OpKind::kSend:
            std::snprintf(text, sizeof text, " to %d on %d", op.peer, op.channel);
            return "send " + (empty ? "nothing" : print(op.source, op.count)) + text;
        case OpKind::kReceive:
            std::snprintf(text, sizeof text, " from %d on %d", op.peer, op.channel);
            return "receive " + (empty ? "nothing" : print(op.target, op.count)) + text;
        case OpKind::kCopy:
            return "copy " + print(op.target, op.count) + " = " + print(op.source, op.count);
        case OpKind::kReduce:
            return "reduce " + print(op.target, op.count) + " = " + print(op.source, op.count) +
                   " (op) " + print(op.second, op.count) + (op.joined ? ", joined" : "");
        case OpKind::kReceiveReduce: {
            std::snprintf(text, sizeof text, "message from %d on %d", op.peer, op.channel);
            const std::string second = print(op.second, op.count);
            return "receive_reduce " + print(op.target, op.count) + " = " +
                   (op.second_first ? second + " (op) " + text : text + (" (op) " + second));
        }
    }
    return "?";
}

}  // namespace

std::string print(const Schedule& schedule) {
    char text[200];
    std::snprintf(text, sizeof text,
                  " rank %d of %d%s: %u chunks %s, %u mirrors, %u slots, %zu ops\n", schedule.rank,
                  schedule.size, schedule.in_place ? " in place" : "", schedule.frame_chunks(),
                  to_string(schedule.cut), schedule.mirrors, schedule.slots, schedule.ops.size());
    std::string out = std::string(to_string(schedule.collective)) + ' ' + schedule.algorithm;
    out += text;
    for (std::size_t number = 0; number < schedule.ops.size(); ++number) {
        const Op& op = schedule.ops[number];
        std::snprintf(text, sizeof text, "%4zu ", number);
        out += text + print(op);
        const char* lead = " after ";
        for (const std::int32_t before : schedule.after(op)) {
            out += lead + std::to_string(before);
            lead = ",";
        }
        if (op.phase < schedule.phases.size()) {
            out += "  (" + schedule.phases[op.phase] + ")";
        }
        out += '\n';
    }
    return out;
}

}  // namespace beeline::coll::plan
