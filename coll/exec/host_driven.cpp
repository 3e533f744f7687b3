// SPDX-License-Identifier: BSD-3-Clause
// The host-driven executor. It waits as late as the dependencies allow: for messages before
// whatever reads or overwrites their memory, for the engine only before a message that needs its
// result.
#include "coll/exec/host_driven.hpp"

#include <algorithm>
#include <new>

namespace beeline::coll::exec {

using plan::is_message;

Status HostDriven::begin(const plan::Schedule& schedule, const Data& data, ReduceEngine& engine,
                         Transport& transport, Status failed) noexcept {
    for (const plan::Op& op : schedule.ops) {
        if (op.kind == plan::OpKind::kReceiveReduce) {
            return Status::kUnsupported;
        }
    }
    schedule_ = &schedule;
    data_ = data;
    engine_ = &engine;
    transport_ = &transport;
    layout_.emplace(schedule, data_.sizes);
    const std::size_t ops = schedule.ops.size();
    try {
        states_.assign(ops, State::kWaiting);
        handles_.resize(ops);
        due_.reserve(ops);
        due_handles_.reserve(ops);
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
    scratch_ = nullptr;
    status_ = failed;
    if (layout_->scratch() > 0 && status_ == Status::kOk) {
        const auto scratch = engine.scratch(layout_->scratch() * data_.element);
        if (scratch) {
            scratch_ = static_cast<std::byte*>(scratch.value());
        } else {
            status_ = scratch.status();
        }
    }
    next_ = oldest_ = 0;
    computed_ = false;
    flushed_ = last_compute_ = -1;
    return Status::kOk;
}

Status HostDriven::run(const plan::Schedule& schedule, const Data& data, ReduceEngine& engine,
                       Transport& transport) noexcept {
    const Status begun = begin(schedule, data, engine, transport);
    if (begun != Status::kOk) {
        return begun;
    }
    advance(Patience::kWait);
    return status_;
}

bool HostDriven::advance(Patience patience) noexcept {
    const std::size_t ops = schedule_->ops.size();
    while (next_ < ops) {
        const std::size_t end = end_of_group(next_);
        if (!ready(next_, end, patience)) {
            return false;
        }
        start(next_, end);
        next_ = end;
    }
    due_.clear();
    while (oldest_ < ops && states_[oldest_] == State::kComplete) {
        ++oldest_;
    }
    for (std::size_t index = oldest_; index < ops; ++index) {
        if (states_[index] == State::kUnderWay) {
            due_.push_back(index);
        }
    }
    return messages_complete(patience) && flushed(patience);
}

/// The op after `index` and those joined to it, as many as the engine takes at once.
std::size_t HostDriven::end_of_group(std::size_t index) const noexcept {
    std::size_t end = index + 1;
    while (end < schedule_->ops.size() && schedule_->ops[end].joined &&
           end - index + 1 < kernel::kMostInputs) {
        ++end;
    }
    return end;
}

bool HostDriven::ready(std::size_t begin, std::size_t end, Patience patience) noexcept {
    for (std::size_t index = begin; index < end; ++index) {
        if (!ready(schedule_->ops[index], patience)) {
            return false;
        }
    }
    return true;
}

/// Whether all that `op` depends on is done. Copies and reductions follow one another in the
/// engine's order by themselves.
bool HostDriven::ready(const plan::Op& op, Patience patience) noexcept {
    due_.clear();
    bool needs_flush = false;
    for (const std::int32_t before : schedule_->after(op)) {
        const auto index = static_cast<std::size_t>(before);
        if (!is_message(schedule_->ops[index].kind)) {
            needs_flush = needs_flush || (is_message(op.kind) && before > flushed_);
        } else if (states_[index] == State::kUnderWay) {
            due_.push_back(index);
        }
    }
    return messages_complete(patience) && (!needs_flush || flushed(patience));
}

/// Whether the messages of the ops in `due_` are complete.
bool HostDriven::messages_complete(Patience patience) noexcept {
    if (patience == Patience::kWait) {
        due_handles_.clear();
        for (const std::size_t index : due_) {
            due_handles_.push_back(handles_[index]);
            states_[index] = State::kComplete;
        }
        if (!due_handles_.empty()) {
            note(transport_->wait(due_handles_));
        }
        return true;
    }
    for (const std::size_t index : due_) {
        Status outcome = Status::kOk;
        if (!transport_->test(handles_[index], outcome)) {
            return false;
        }
        states_[index] = State::kComplete;
        note(outcome);
    }
    return true;
}

/// Whether the engine has done all it was given.
bool HostDriven::flushed(Patience patience) noexcept {
    if (computed_) {
        const Status outcome = patience == Patience::kWait ? engine_->flush() : engine_->poll();
        if (outcome == Status::kRetry) {
            return false;
        }
        note(outcome);
        computed_ = false;
    }
    flushed_ = last_compute_;
    return true;
}

/// Starts an op, or several reduces that are joined.
void HostDriven::start(std::size_t begin, std::size_t end) noexcept {
    if (is_message(schedule_->ops[begin].kind)) {
        start_message(begin);
        return;
    }
    if (status_ == Status::kOk) {
        compute(begin, end);
    }
    last_compute_ = static_cast<std::int32_t>(end - 1);
    std::fill(states_.begin() + static_cast<std::ptrdiff_t>(begin),
              states_.begin() + static_cast<std::ptrdiff_t>(end), State::kComplete);
}

void HostDriven::start_message(std::size_t index) noexcept {
    const plan::Op& op = schedule_->ops[index];
    const bool sends = op.kind == plan::OpKind::kSend;
    const Piece piece = op.count > 0 ? find(sends ? op.source : op.target, op.count) : Piece{};
    if (piece.count == 0 && op.count > 0) {
        states_[index] = State::kComplete;  // empty here, and so at the peer
        return;
    }
    const bool good = status_ == Status::kOk;
    void* address = good ? piece.address : nullptr;
    const std::size_t bytes = good ? piece.count * data_.element : 0;
    const Result<Handle> handle = sends ? transport_->send(address, bytes, op.peer, op.channel)
                                        : transport_->receive(address, bytes, op.peer, op.channel);
    if (!handle) {
        note(handle.status());
        states_[index] = State::kComplete;
        return;
    }
    handles_[index] = handle.value();
    states_[index] = State::kUnderWay;
}

void HostDriven::compute(std::size_t begin, std::size_t end) noexcept {
    const plan::Op& op = schedule_->ops[begin];
    const Piece target = find(schedule_->ops[end - 1].target, op.count);
    if (target.count == 0) {
        return;
    }
    computed_ = true;
    const void* source = find(op.source, op.count).address;
    if (op.kind == plan::OpKind::kCopy) {
        note(engine_->copy(target.address, source, target.count * data_.element));
        return;
    }
    // The result of each but the last is the source of the next.
    const void* inputs[kernel::kMostInputs] = {source};
    std::size_t count = 1;
    for (std::size_t index = begin; index < end; ++index) {
        inputs[count++] = find(schedule_->ops[index].second, op.count).address;
    }
    note(engine_->reduce_many(data_.type, data_.op, {inputs, count}, target.address, target.count));
}

HostDriven::Piece HostDriven::find(const plan::Place& place, std::uint32_t chunks) const noexcept {
    const plan::Piece piece = layout_->locate(place, chunks);
    const std::size_t offset = piece.offset * data_.element;
    switch (place.buffer) {
        case plan::Buffer::kInput:  // never a target
            return {const_cast<std::byte*>(static_cast<const std::byte*>(data_.input)) + offset,
                    piece.count};
        case plan::Buffer::kOutput:
            return {static_cast<std::byte*>(data_.output) + offset, piece.count};
        case plan::Buffer::kMirror:
        case plan::Buffer::kSlot:
            break;
    }
    return {scratch_ + offset, piece.count};
}

void HostDriven::note(Status outcome) noexcept {
    if (status_ == Status::kOk) {
        status_ = outcome;
    }
}

}  // namespace beeline::coll::exec
