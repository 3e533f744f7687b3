// SPDX-License-Identifier: BSD-3-Clause
// Splitting of fused ops.
#include "coll/plan/transform.hpp"

namespace beeline::coll::plan {
namespace {

/// The frame chunk that the data at `place` is as long as.
std::uint32_t frame_chunk(const Schedule& schedule, const Place& place) {
    if (place.buffer == Buffer::kSlot) {
        return place.like;
    }
    return place.buffer == Buffer::kMirror ? place.chunk % schedule.frame_chunks() : place.chunk;
}

}  // namespace

Schedule split(const Schedule& schedule) {
    Schedule result = schedule;
    result.ops.clear();
    result.dependencies.clear();
    std::vector<std::int32_t> moved;  // where each op's completion went
    for (const Op& op : schedule.ops) {
        std::vector<std::int32_t> after;
        for (const std::int32_t before : schedule.after(op)) {
            after.push_back(moved[static_cast<std::size_t>(before)]);
        }
        if (op.kind != OpKind::kReceiveReduce) {
            moved.push_back(append(result, op, after));
            continue;
        }
        const std::uint32_t like = frame_chunk(schedule, op.second);
        Op receive = op;
        receive.kind = OpKind::kReceive;
        if (op.count == 1) {
            receive.target = {Buffer::kSlot, result.slots++, like};
        } else {
            receive.target = {Buffer::kMirror, result.mirrors++ * schedule.frame_chunks() + like};
        }
        after.push_back(append(result, receive, {}));
        Op reduce = op;
        reduce.kind = OpKind::kReduce;
        reduce.peer = kNone;
        reduce.source = op.second_first ? op.second : receive.target;
        reduce.second = op.second_first ? receive.target : op.second;
        moved.push_back(append(result, reduce, after));
    }
    return result;
}

}  // namespace beeline::coll::plan
