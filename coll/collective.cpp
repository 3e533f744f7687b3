// SPDX-License-Identifier: BSD-3-Clause
// The way of a collective.
#include "coll/collective.hpp"

#include <algorithm>
#include <new>

#include "base/log.hpp"
#include "coll/plan/transform.hpp"
#include "memory/copy.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll {
namespace {

/// A vector longer than this is worked on in rounds, which bounds the scratch of the algorithms
/// that need whole vectors of it.
constexpr std::size_t kRoundBytes = std::size_t{64} << 20;

/// One engine must reach both buffers: both the CPU, or one context's kernels.
bool same_place(const memory::Pointer& one, const memory::Pointer& two) noexcept {
    return one.on_device() == two.on_device() && (!one.on_device() || one.context == two.context);
}

/// Bytes from the buffer's address to the end of its last block.
std::size_t extent_of(const Call& call, std::uint32_t blocks,
                      const plan::BlockTable& table) noexcept {
    if (plan::on_vector(call.collective) || blocks <= 1) {
        return call.sizes.count * call.element;
    }
    if (call.cut == plan::Cut::kEqual) {
        return blocks * call.sizes.count * call.element;
    }
    std::size_t end = 0;
    for (std::uint32_t block = 0; block < blocks; ++block) {
        end = std::max(end, table.displacements[block] + table.counts[block]);
    }
    return end * call.element;
}

}  // namespace

Status Operation::bring_input() noexcept {
    memory::Pointer from = memory::look_at(call_.input);
    const memory::Pointer to = memory::look_at(call_.output);
    const bool reduces = plan::reduces(call_.collective);
    if (call_.collective == plan::Collective::kReduceScatter && call_.in_place) {
        // The result belongs to the start of what is the input: it is made elsewhere first.
        call_.input = call_.output;
        from = to;
        result_ = call_.output;
        result_bytes_ = call_.sizes.count * call_.element;
    }
    places_[0] = from;
    places_[1] = to;
    const memory::Pointer& place = call_.output != nullptr && to.on_device() ? to : from;
    const bool mixed =
        reduces && call_.input != nullptr && call_.output != nullptr && !same_place(from, to);
    const memory::Pointer& where = mixed ? to : place;
    exec::ReduceEngine* room = &host_room_;
    if (where.on_device()) {
        device_.bind(where);
        engine_ = &device_;
    }
    if (!mixed && result_ == nullptr) {
        return Status::kOk;
    }
    if (where.on_device()) {
        device_room_.bind(where);
        room = &device_room_;
    }
    const std::size_t bytes =
        mixed ? extent_of(call_, schedule_->input_blocks, call_.sizes.input) : result_bytes_;
    const auto memory = room->scratch(std::max<std::size_t>(bytes, 1));
    if (!memory) {
        return memory.status();
    }
    places_[2] = where.on_device() ? device_room_.place_of_scratch() : memory::Pointer{};
    if (result_ != nullptr) {
        call_.output = memory.value();
        return Status::kOk;
    }
    const Status copied = memory::copy(memory.value(), call_.input, bytes);
    call_.input = memory.value();
    return copied;
}

Status Operation::begin_round(Status failed) noexcept {
    exec::Data data{call_.input, call_.output, call_.sizes, call_.element, call_.type, call_.op};
    if (rounds_ > 1) {
        const plan::Piece part = plan::round_of(call_.sizes.count, rounds_, round_);
        const std::size_t offset = part.offset * call_.element;
        if (data.input != nullptr) {
            data.input = static_cast<const std::byte*>(data.input) + offset;
        }
        if (data.output != nullptr) {
            data.output = static_cast<std::byte*>(data.output) + offset;
        }
        data.sizes.count = part.count;
    }
    const Status begun = executor_.begin(*schedule_, data, *engine_, *transport_, failed);
    const bool on_device = engine_ == &device_ && executor_.uses_scratch();
    places_[3] = on_device ? device_.place_of_scratch() : memory::Pointer{};
    return begun;
}

Status Operation::prepare(const Call& call) noexcept {
    call_ = call;
    places_ = {};
    result_ = nullptr;
    result_bytes_ = 0;
    rounds_ = 1;
    round_ = 0;
    if (plan::on_vector(call.collective)) {
        rounds_ = std::max<std::size_t>(
            (call.sizes.count * call.element + kRoundBytes - 1) / kRoundBytes, 1);
    }
    engine_ = &host_;
    return begin_round(call.failed == Status::kOk ? bring_input() : call.failed);
}

void Operation::finish() noexcept {
    if (result_ != nullptr && status_ == Status::kOk) {
        status_ = memory::copy(result_, call_.output, result_bytes_);
    }
    busy_ = false;
}

bool Operation::advance(exec::Patience patience) noexcept {
    const memory::KnownScope known(places_);
    while (busy_) {
        if (!executor_.advance(patience)) {
            return false;
        }
        if (status_ == Status::kOk) {
            status_ = executor_.status();
        }
        if (++round_ == rounds_) {
            finish();
            break;
        }
        if (const Status begun = begin_round(status_); begun != Status::kOk) {
            // The memory that this round needs was there for the round before: peers wait for
            // messages that never come, so this must not happen silently.
            log(LogLevel::kError, "a collective ends early: %s", to_string(begun));
            status_ = begun;
            busy_ = false;
        }
    }
    return true;
}

Context::Kept& Context::schedule(const plan::Request& request, const plan::Algorithm& algorithm) {
    ++clock_;
    Kept* oldest = nullptr;
    for (const auto& kept : kept_) {
        const plan::Schedule& old = kept->schedule;
        if (kept->algorithm == &algorithm && kept->slices == request.slices &&
            old.in_place == request.in_place && old.root == request.root &&
            (old.cut == request.cut || plan::on_vector(request.collective))) {
            kept->used = clock_;  // the edges of a communicator never change
            return *kept;
        }
        if (kept->users == 0 && (oldest == nullptr || kept->used < oldest->used)) {
            oldest = kept.get();
        }
    }
    if (kept_.size() < kKept || oldest == nullptr) {
        kept_.push_back(std::make_unique<Kept>());
        oldest = kept_.back().get();
    }
    oldest->algorithm = nullptr;
    oldest->schedule = plan::join(plan::split(algorithm.build(request)), kernel::kMostInputs);
    oldest->algorithm = &algorithm;
    oldest->slices = request.slices;
    oldest->used = clock_;
    ++counters_.built;
    return *oldest;
}

Operation* Context::begin(const Call& call, const select::Choice& choice,
                          exec::Transport& transport) noexcept {
    plan::Request request;
    request.collective = call.collective;
    request.size = transport.size();
    request.rank = transport.rank();
    request.root = call.root;
    request.in_place = call.in_place && call.collective != plan::Collective::kReduceScatter;
    request.commutative = call.commutative;
    request.cut = call.cut;
    request.slices = choice.slices;
    request.node_of = node_of_;
    request.sources = call.sources;
    request.targets = call.targets;
    Status status = Status::kNoMemory;
    Operation* operation = nullptr;
    try {
        Kept& kept = schedule(request, *choice.algorithm);
        for (const auto& candidate : operations_) {
            if (candidate->users_ == nullptr) {
                operation = candidate.get();
                break;
            }
        }
        if (operation == nullptr) {
            operations_.push_back(std::make_unique<Operation>());
            operation = operations_.back().get();
        }
        operation->schedule_ = &kept.schedule;
        operation->users_ = &kept.users;
        ++kept.users;
        operation->transport_ = &transport;
        status = operation->prepare(call);
    } catch (const std::bad_alloc&) {
        status = Status::kNoMemory;
    }
    if (operation == nullptr) {
        log(LogLevel::kError, "out of memory for an operation of %s",
            plan::to_string(call.collective));
        return nullptr;
    }
    operation->status_ = status;
    operation->busy_ = status == Status::kOk;
    ++(operation->engine_ == &operation->device_ ? counters_.on_device : counters_.on_host);
    return operation;
}

void Context::release(Operation* operation) noexcept {
    --*operation->users_;
    operation->users_ = nullptr;
}

Status Context::run(const Call& call, const select::Choice& choice,
                    exec::Transport& transport) noexcept {
    Operation* operation = begin(call, choice, transport);
    if (operation == nullptr) {
        return Status::kNoMemory;
    }
    operation->advance(exec::Patience::kWait);
    const Status status = operation->status();
    release(operation);
    return status;
}

}  // namespace beeline::coll
