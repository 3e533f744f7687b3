// SPDX-License-Identifier: BSD-3-Clause
// Splitting of fused ops, joining of reductions.
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

bool overlap(const Place& a, const Place& b, std::uint32_t count_a,
             std::uint32_t count_b) noexcept {
    return a.buffer == b.buffer && a.chunk < b.chunk + count_b && b.chunk < a.chunk + count_a;
}

bool reads(const Op& op, const Place& place, std::uint32_t count) noexcept {
    const bool has_source = op.kind != OpKind::kReceive && op.kind != OpKind::kReceiveReduce;
    const bool has_second = op.kind == OpKind::kReduce || op.kind == OpKind::kReceiveReduce;
    return (has_source && overlap(op.source, place, op.count, count)) ||
           (has_second && overlap(op.second, place, op.count, count));
}

/// Whether what op `index` leaves in its target is of no use but to the op after it.
bool is_passed_on_only(const Schedule& schedule, std::size_t index) noexcept {
    const Op& op = schedule.ops[index];
    if (op.target.buffer != Buffer::kMirror && op.target.buffer != Buffer::kSlot) {
        return false;
    }
    for (std::size_t later = index + 2; later < schedule.ops.size(); ++later) {
        if (reads(schedule.ops[later], op.target, op.count)) {
            return false;
        }
    }
    return true;
}

/// Whether op `index` continues the reduce before it.
bool continues(const Schedule& schedule, std::size_t index) noexcept {
    const Op& before = schedule.ops[index - 1];
    const Op& op = schedule.ops[index];
    return before.kind == OpKind::kReduce && op.kind == OpKind::kReduce &&
           op.count == before.count && op.source == before.target &&
           !overlap(op.second, before.target, op.count, before.count) &&
           (op.target == before.target || is_passed_on_only(schedule, index - 1));
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

Schedule join(Schedule schedule, std::size_t most) {
    std::size_t operands = 2;
    for (std::size_t index = 1; index < schedule.ops.size(); ++index) {
        const bool joins = operands < most && continues(schedule, index);
        schedule.ops[index].joined = joins;
        operands = joins ? operands + 1 : 2;
    }
    return schedule;
}

std::size_t count_reductions(const Schedule& schedule) noexcept {
    std::size_t count = 0;
    for (const Op& op : schedule.ops) {
        count += op.kind == OpKind::kReduce && !op.joined ? 1 : 0;
    }
    return count;
}

}  // namespace beeline::coll::plan
