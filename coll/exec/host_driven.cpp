// SPDX-License-Identifier: BSD-3-Clause
// The host-driven executor. It waits as late as the dependencies allow: for messages before
// whatever reads or overwrites their memory, for the engine only before a message that needs its
// result.
#include "coll/exec/host_driven.hpp"

#include <new>

namespace beeline::coll::exec {
namespace {

bool is_message(const plan::Op& op) noexcept {
    return plan::is_message(op.kind);
}

}  // namespace

struct HostDriven::Run {
    const plan::Schedule& schedule;
    const Data& data;
    ReduceEngine& engine;
    Transport& transport;
    plan::Layout layout;
    std::byte* scratch = nullptr;
    std::size_t element = 0;
    bool computed = false;      ///< the engine was given work since the last flush
    std::int32_t flushed = -1;  ///< copies and reductions up to this op are done
    std::int32_t last_compute = -1;
    Status status = Status::kOk;

    void note(Status outcome) noexcept {
        if (status == Status::kOk) {
            status = outcome;
        }
    }

    /// A place in memory.
    struct Piece {
        void* address = nullptr;
        std::size_t count = 0;  ///< elements
    };

    Piece find(const plan::Place& place, std::uint32_t chunks) const noexcept {
        const plan::Piece piece = layout.locate(place, chunks);
        const std::size_t offset = piece.offset * element;
        switch (place.buffer) {
            case plan::Buffer::kInput:  // never a target
                return {const_cast<std::byte*>(static_cast<const std::byte*>(data.input)) + offset,
                        piece.count};
            case plan::Buffer::kOutput:
                return {static_cast<std::byte*>(data.output) + offset, piece.count};
            case plan::Buffer::kMirror:
            case plan::Buffer::kSlot:
                break;
        }
        return {scratch + offset, piece.count};
    }
};

Status HostDriven::run(const plan::Schedule& schedule, const Data& data, ReduceEngine& engine,
                       Transport& transport) noexcept {
    for (const plan::Op& op : schedule.ops) {
        if (op.kind == plan::OpKind::kReceiveReduce) {
            return Status::kUnsupported;
        }
    }
    Run run{schedule, data, engine, transport, plan::Layout(schedule, data.sizes)};
    run.element = kernel::size_of(data.type);
    const std::size_t ops = schedule.ops.size();
    try {
        states_.assign(ops, State::kWaiting);
        handles_.resize(ops);
        due_.reserve(ops);
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
    if (run.layout.scratch() > 0) {
        const auto scratch = engine.scratch(run.layout.scratch() * run.element);
        if (!scratch) {
            return scratch.status();
        }
        run.scratch = static_cast<std::byte*>(scratch.value());
    }
    for (std::size_t index = 0; index < ops; ++index) {
        prepare(schedule.ops[index], run);
        start(index, run);
    }
    due_.clear();
    for (std::size_t index = 0; index < ops; ++index) {
        if (states_[index] == State::kUnderWay) {
            due_.push_back(handles_[index]);
        }
    }
    wait_for_due(run);
    flush(run);
    return run.status;
}

/// Waits for what `op` depends on. Copies and reductions follow one another in the engine's order
/// by themselves.
void HostDriven::prepare(const plan::Op& op, Run& run) noexcept {
    due_.clear();
    bool needs_flush = false;
    for (const std::int32_t before : run.schedule.after(op)) {
        const auto index = static_cast<std::size_t>(before);
        if (!is_message(run.schedule.ops[index])) {
            needs_flush = needs_flush || (is_message(op) && before > run.flushed);
        } else if (states_[index] == State::kUnderWay) {
            due_.push_back(handles_[index]);
            states_[index] = State::kComplete;
        }
    }
    wait_for_due(run);
    if (needs_flush) {
        flush(run);
    }
}

void HostDriven::start(std::size_t index, Run& run) noexcept {
    const plan::Op& op = run.schedule.ops[index];
    if (is_message(op)) {
        start_message(index, run);
        return;
    }
    if (run.status == Status::kOk) {
        compute(op, run);
    }
    run.last_compute = static_cast<std::int32_t>(index);
    states_[index] = State::kComplete;
}

void HostDriven::start_message(std::size_t index, Run& run) noexcept {
    const plan::Op& op = run.schedule.ops[index];
    const bool sends = op.kind == plan::OpKind::kSend;
    const Run::Piece piece = run.find(sends ? op.source : op.target, op.count);
    if (piece.count == 0 && op.count > 0) {
        states_[index] = State::kComplete;  // empty here, and so at the peer
        return;
    }
    const std::size_t bytes = piece.count * run.element;
    const Result<Handle> handle =
        sends ? run.transport.send(piece.address, bytes, op.peer, op.channel)
              : run.transport.receive(piece.address, bytes, op.peer, op.channel);
    if (!handle) {
        run.note(handle.status());
        states_[index] = State::kComplete;
        return;
    }
    handles_[index] = handle.value();
    states_[index] = State::kUnderWay;
}

void HostDriven::compute(const plan::Op& op, Run& run) noexcept {
    const Run::Piece target = run.find(op.target, op.count);
    if (target.count == 0) {
        return;
    }
    run.computed = true;
    const void* source = run.find(op.source, op.count).address;
    if (op.kind == plan::OpKind::kCopy) {
        run.note(run.engine.copy(target.address, source, target.count * run.element));
    } else {
        run.note(run.engine.reduce(run.data.type, run.data.op, source,
                                   run.find(op.second, op.count).address, target.address,
                                   target.count));
    }
}

void HostDriven::wait_for_due(Run& run) noexcept {
    if (!due_.empty()) {
        run.note(run.transport.wait(due_));
    }
}

void HostDriven::flush(Run& run) noexcept {
    if (run.computed) {
        run.note(run.engine.flush());
        run.computed = false;
    }
    run.flushed = run.last_compute;
}

}  // namespace beeline::coll::exec
