// SPDX-License-Identifier: BSD-3-Clause
// Dependencies from what ops touch.
#include "coll/plan/emitter.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace beeline::coll::plan {
namespace {

std::uint32_t number(std::size_t value) noexcept {
    return static_cast<std::uint32_t>(value);
}

}  // namespace

std::int32_t append(Schedule& schedule, Op op, std::span<const std::int32_t> after) {
    op.first_after = number(schedule.dependencies.size());
    for (const std::int32_t before : after) {
        if (before != kNone) {
            schedule.dependencies.push_back(before);
        }
    }
    op.afters = number(schedule.dependencies.size()) - op.first_after;
    schedule.ops.push_back(op);
    return static_cast<std::int32_t>(schedule.ops.size() - 1);
}

void set_blocks(Schedule& schedule, const Request& request, std::uint32_t vector_blocks) {
    schedule.cut = on_vector(request.collective) ? Cut::kEven : request.cut;
    const auto size = static_cast<std::uint32_t>(request.size);
    const bool at_root = request.rank == request.root;
    std::uint32_t input = vector_blocks;
    std::uint32_t output = vector_blocks;
    switch (request.collective) {
        case Collective::kAllreduce:
        case Collective::kScan:
        case Collective::kExscan:
            break;
        case Collective::kBcast:
            input = 0;
            break;
        case Collective::kReduce:
            output = at_root ? vector_blocks : 0;
            break;
        case Collective::kAllgather:
            input = 1;
            output = size;
            break;
        case Collective::kReduceScatter:
            input = size;
            output = 1;
            break;
        case Collective::kAlltoall:
            input = output = size;
            break;
        case Collective::kGather:
            input = 1;
            output = at_root ? size : 0;
            break;
        case Collective::kScatter:
            input = at_root ? size : 0;
            output = at_root && request.in_place ? 0 : 1;
            break;
        case Collective::kBarrier:
            input = output = 0;
            break;
        case Collective::kNeighborAllgather:
            input = 1;
            output = number(request.sources.size());
            break;
        case Collective::kNeighborAlltoall:
            input = number(request.targets.size());
            output = number(request.sources.size());
            break;
    }
    // Elsewhere than at the root, and for a broadcast, there is nothing to be in place.
    schedule.in_place = request.in_place && request.collective != Collective::kBcast &&
                        (at_root || !rooted(request.collective));
    const bool input_in_output = schedule.in_place && request.collective != Collective::kScatter;
    schedule.input_blocks = input_in_output ? 0 : input;
    schedule.output_blocks = output;
    schedule.frame_blocks = on_vector(request.collective)                ? vector_blocks
                            : request.collective == Collective::kBarrier ? 1
                            : on_neighbors(request.collective) ? std::max({input, output, 1U})
                                                               : size;
}

Emitter::Emitter(const Request& request, const char* algorithm, int frame_blocks, int slices) {
    schedule_.collective = request.collective;
    schedule_.algorithm = algorithm;
    schedule_.size = request.size;
    schedule_.rank = request.rank;
    schedule_.root = rooted(request.collective) ? request.root : 0;
    schedule_.slices = static_cast<std::uint32_t>(slices);
    set_blocks(schedule_, request, static_cast<std::uint32_t>(frame_blocks));
}

Place Emitter::mirror(std::uint32_t copy, std::uint32_t chunk) noexcept {
    schedule_.mirrors = std::max(schedule_.mirrors, copy + 1);
    return {Buffer::kMirror, copy * schedule_.frame_chunks() + chunk};
}

Place Emitter::slot(std::uint32_t index, std::uint32_t like) noexcept {
    schedule_.slots = std::max(schedule_.slots, index + 1);
    return {Buffer::kSlot, index, like};
}

/// Emits the op, or one for each block where ops may not span blocks.
void Emitter::emit_by_blocks(Op op) {
    const std::uint32_t chunks = op.count;
    const std::uint32_t most = single_blocks() ? schedule_.slices : chunks;
    for (std::uint32_t done = 0; done < chunks; done += most) {
        op.count = std::min(most, chunks - done);
        emit(op);
        for (Place* place : {&op.source, &op.second, &op.target}) {
            place->chunk += op.count;
            place->like += op.count;
        }
    }
}

void Emitter::send(int peer, Place source, std::uint32_t count, int channel) {
    Op op;
    op.kind = OpKind::kSend;
    op.peer = peer;
    op.channel = channel;
    op.source = source;
    op.count = count;
    emit_by_blocks(op);
}

void Emitter::receive(int peer, Place target, std::uint32_t count, int channel) {
    Op op;
    op.kind = OpKind::kReceive;
    op.peer = peer;
    op.channel = channel;
    op.target = target;
    op.count = count;
    emit_by_blocks(op);
}

void Emitter::copy(Place target, Place source, std::uint32_t count) {
    if (target == source) {
        return;
    }
    Op op;
    op.kind = OpKind::kCopy;
    op.source = source;
    op.target = target;
    op.count = count;
    emit_by_blocks(op);
}

void Emitter::reduce(Place target, Place left, Place right, std::uint32_t count) {
    Op op;
    op.kind = OpKind::kReduce;
    op.source = left;
    op.second = right;
    op.target = target;
    op.count = count;
    emit_by_blocks(op);
}

void Emitter::signal(int peer) {
    Op op;
    op.kind = OpKind::kSend;
    op.peer = peer;
    op.count = 0;
    append(schedule_, op, awaited_);
}

void Emitter::await(int peer) {
    Op op;
    op.kind = OpKind::kReceive;
    op.peer = peer;
    op.count = 0;
    awaited_.push_back(append(schedule_, op, {}));
}

void Emitter::phase(const char* name) {
    std::vector<std::string>& names = schedule_.phases;
    const auto found = std::find(names.begin(), names.end(), name);
    phase_ = static_cast<std::uint8_t>(found - names.begin());
    if (found == names.end()) {
        names.emplace_back(name);
    }
}

/// The run that begins at `chunk`, made by cutting the one that contains it; the next one when none
/// does.
Emitter::Runs::iterator Emitter::cut_at(Runs& runs, std::uint32_t chunk) {
    auto next = runs.lower_bound(chunk);
    if (next == runs.begin() || (next != runs.end() && next->first == chunk)) {
        return next;
    }
    const auto before = std::prev(next);
    if (before->second.end <= chunk) {
        return next;
    }
    Run tail = before->second;
    before->second.end = chunk;
    return runs.emplace_hint(next, chunk, std::move(tail));
}

void Emitter::need(std::int32_t op) {
    if (op != kNone && std::find(needed_.begin(), needed_.end(), op) == needed_.end()) {
        needed_.push_back(op);
    }
}

template <class Change>
void Emitter::each_run(const Place& place, std::uint32_t count, Change&& change) {
    Runs& runs = runs_[static_cast<int>(place.buffer)];
    const std::uint32_t end = place.chunk + count;
    auto run = cut_at(runs, place.chunk);
    cut_at(runs, end);
    std::uint32_t at = place.chunk;
    while (at < end) {
        if (run == runs.end() || run->first > at) {
            const std::uint32_t gap_end = run == runs.end() ? end : std::min(end, run->first);
            run = runs.emplace_hint(run, at, Run{gap_end, kNone, {}});
        }
        change(run->second);
        at = run->second.end;
        ++run;
    }
}

void Emitter::reads(const Place& place, std::uint32_t count) {
    const auto index = static_cast<std::int32_t>(schedule_.ops.size());
    each_run(place, count, [&](Run& run) {
        need(run.written);
        if (run.read.empty() || run.read.back() != index) {
            run.read.push_back(index);
        }
    });
}

void Emitter::writes(const Place& place, std::uint32_t count) {
    const auto index = static_cast<std::int32_t>(schedule_.ops.size());
    each_run(place, count, [&](Run& run) {
        bool others = false;
        for (const std::int32_t reader : run.read) {
            if (reader != index) {
                need(reader);
                others = true;
            }
        }
        if (!others) {
            need(run.written);
        }
    });
    // One run from here on, whatever it was before.
    Runs& runs = runs_[static_cast<int>(place.buffer)];
    const auto first = runs.find(place.chunk);
    runs.erase(std::next(first), runs.lower_bound(place.chunk + count));
    first->second = Run{place.chunk + count, index, {}};
}

void Emitter::emit(Op op) {
    op.phase = phase_;
    for (const Place& place : {op.source, op.second, op.target}) {
        if (place.buffer == Buffer::kSlot) {
            schedule_.slots = std::max(schedule_.slots, place.chunk + op.count);
        }
    }
    needed_.clear();
    switch (op.kind) {
        case OpKind::kSend:
            reads(op.source, op.count);
            break;
        case OpKind::kReceive:
            writes(op.target, op.count);
            break;
        case OpKind::kCopy:
            reads(op.source, op.count);
            writes(op.target, op.count);
            break;
        case OpKind::kReduce:
            reads(op.source, op.count);
            reads(op.second, op.count);
            writes(op.target, op.count);
            break;
        case OpKind::kReceiveReduce:
            reads(op.second, op.count);
            writes(op.target, op.count);
            break;
    }
    for (const std::int32_t earlier : held_for_) {
        need(earlier);
    }
    held_for_.clear();
    std::sort(needed_.begin(), needed_.end());
    append(schedule_, op, needed_);
}

}  // namespace beeline::coll::plan
