// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text.
#include <cstdio>

#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {
namespace {

std::string print(const Place& place, std::size_t count) {
    char text[80];
    std::snprintf(text, sizeof text, "%s[%zu..%zu)", to_string(place.buffer), place.offset,
                  place.offset + count);
    return text;
}

std::string print(const Op& op) {
    char text[80];
    switch (op.kind) {
        case OpKind::kSend:
            std::snprintf(text, sizeof text, " to %d on %d", op.peer, op.channel);
            return "send " + print(op.source, op.count) + text;
        case OpKind::kReceive:
            std::snprintf(text, sizeof text, " from %d on %d", op.peer, op.channel);
            return "receive " + print(op.target, op.count) + text;
        case OpKind::kCopy:
            return "copy " + print(op.target, op.count) + " = " + print(op.source, op.count);
        case OpKind::kReduce:
            return "reduce " + print(op.target, op.count) + " = " + print(op.source, op.count) +
                   " (op) " + print(op.second, op.count);
    }
    return "?";
}

}  // namespace

std::string print(const Schedule& schedule) {
    char text[200];
    std::snprintf(text, sizeof text, "%s rank %d of %d, %zu elements%s, scratch %zu, %zu ops\n",
                  schedule.algorithm, schedule.rank, schedule.size, schedule.count,
                  schedule.in_place ? " in place" : "", schedule.scratch, schedule.ops.size());
    std::string out = text;
    for (std::size_t index = 0; index < schedule.ops.size(); ++index) {
        const Op& op = schedule.ops[index];
        std::snprintf(text, sizeof text, "%4zu ", index);
        out += text + print(op);
        const char* lead = " after ";
        for (const std::int32_t before : op.after) {
            if (before != kNone) {
                std::snprintf(text, sizeof text, "%s%d", lead, before);
                out += text;
                lead = ",";
            }
        }
        out += '\n';
    }
    return out;
}

}  // namespace beeline::coll::plan
