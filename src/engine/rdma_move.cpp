// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by RDMA. A write: the receiver names registered memory, the sender's cards write into
// it, and the last write on each rail tells the receiver so; it is done when every rail has told,
// never by looking at the data. A read: the receiver's cards fetch what the RTS names, and FIN
// follows.
//
// A failure: the side that drives ends all its shares first (a share has ended when its card can
// neither read nor write for it any more), so a message that is moved again, or another way, is
// never overtaken by what is left of the first attempt. The receiver of a write closes its end of
// a broken rail before it asks again, which keeps out packets that are late; an immediate that is
// late names a slot of another generation.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "engine/rdma_state.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::verbs::Share;
using protocol::Reason;

namespace {

constexpr unsigned kMostAttempts = 4;  // of a message by RDMA
constexpr unsigned kSlotBits = 20;     // of an immediate; the rest is a generation
constexpr std::uint32_t kMostSlots = (1U << kSlotBits) - 1;
constexpr std::uint64_t kAlignment = 4096;  // of the parts of a message on several rails

/// The first `count` of these rails.
RailBits first_of(RailBits rails, std::size_t count) noexcept {
    RailBits chosen = 0;
    for (unsigned rail = 0; rail < wire::kMaxRails && count != 0; ++rail) {
        if ((rails & bit(rail)) != 0) {
            chosen |= bit(rail);
            --count;
        }
    }
    return chosen;
}

}  // namespace

/// The receiver's side. kOk: under way, or waiting for the connection; otherwise the situation says
/// what is in the way.
Status Engine::take_rdma(Request& request, Ways& ways, bool read) {
    protocol::Situation& situation = ways.situation;
    RdmaPeer& from = rdma_peer(*request.peer_);
    const Status there = ways.rdma_failed < kMostAttempts ? rdma_connection(from, !ways.rdma_waited)
                                                          : Status::kUnreachable;
    if (there == Status::kRetry) {
        ways.rdma_waited = true;
        from.waiting.push_back({&request, ways});
        return Status::kOk;
    }
    if (there != Status::kOk) {
        situation.rdma =
            from.state == RdmaPeer::State::kRefused ? Reason::kNoRdmaDevice : Reason::kRdmaFailed;
        request.outcome.reason = situation.rdma;
        drop_region(request);
        return there;
    }
    if (register_memory(request, request.where_.kind == memory::Kind::kDevice) != Status::kOk) {
        situation.receiver.registers = Reason::kNotRegistered;
        request.outcome.reason = Reason::kNotRegistered;
        return Status::kUnsupported;
    }
    RailBits usable = 0;
    RailBits up = 0;
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        const mover::verbs::Port& port = *rdma_->rails[rail];
        if (!from.connection.connected(rail)) {
            continue;
        }
        const bool offered = ways.rdma.rails == 0 || (ways.rdma.rails & bit(from.other[rail])) != 0;
        if (offered && (request.region_->rails >> port.rail & 1U) != 0) {
            usable |= bit(rail);
            up |= port.up ? bit(rail) : RailBits{0};
        }
    }
    usable = up != 0 ? up : usable;
    if (usable == 0) {
        situation.rdma = Reason::kRdmaFailed;
        request.outcome.reason = Reason::kRdmaFailed;
        drop_region(request);
        return Status::kUnreachable;
    }
    const std::size_t worth = std::max<std::size_t>(1, request.wanted_ / params_.pml_rdma_stripe);
    const RailBits rails = first_of(usable, worth);
    request.outcome.path = protocol::Path::kRdma;
    ++from.receives;
    from.used = ++rdma_->messages;
    return read ? start_read(request, ways, from, rails) : ask_write(request, ways, from, rails);
}

Status Engine::ask_write(Request& request, Ways& ways, RdmaPeer& from, RailBits rails) {
    RdmaState& state = *rdma_;
    if (state.free_slots.empty()) {
        if (state.slots.size() == kMostSlots) {
            --from.receives;
            ways.situation.rdma = Reason::kRdmaFailed;
            return Status::kNoMemory;
        }
        state.free_slots.push_back(static_cast<std::uint32_t>(state.slots.size()));
        state.slots.emplace_back();
    }
    const std::uint32_t index = state.free_slots.back();
    state.free_slots.pop_back();
    RdmaSlot& slot = state.slots[index];
    slot.request = &request;
    slot.from = &from;
    slot.missing = rails;
    slot.generation = (slot.generation + 1) & (UINT32_MAX >> kSlotBits);
    request.slot_ = slot.generation << kSlotBits | index;
    request.id_ = table_.add(&request);
    request.awaits_ = Request::Awaits::kRdma;
    wire::RdmaPut put;
    put.sender_request = request.remote_id_;
    put.receiver_request = request.id_;
    put.bytes = request.wanted_;
    put.address = reinterpret_cast<std::uint64_t>(request.data_);
    for (unsigned rail = 0; rail < state.rails.size(); ++rail) {
        put.keys[rail] = request.region_->keys[state.rails[rail]->rail].remote;
    }
    put.immediate = request.slot_;
    put.rails = rails;
    device_->pending.push_back({&request, ways});
    control(*request.peer_, std::as_bytes(std::span(&put, 1)));
    return Status::kOk;
}

/// An immediate has come: all that was to come by this rail is in the receiver's memory.
void Engine::written(RdmaPeer& from, unsigned rail, std::uint32_t immediate) {
    const std::uint32_t index = immediate & kMostSlots;
    RdmaSlot* slot = index < rdma_->slots.size() ? &rdma_->slots[index] : nullptr;
    if (slot == nullptr || slot->request == nullptr || slot->from != &from ||
        slot->generation != immediate >> kSlotBits || (slot->missing & bit(rail)) == 0) {
        return;  // of an attempt that was given up
    }
    slot->missing &= static_cast<RailBits>(~bit(rail));
    if (slot->missing != 0) {
        return;
    }
    Request& request = *slot->request;
    free_slot(request);
    Ways ways;
    resume(request, ways);
    rdma_->arrived.push_back(&request);
}

/// How to make what a card has written into a device's memory visible to the device.
mover::verbs::Flush Engine::flush_of(const memory::Pointer& where) noexcept {
    using namespace mover::verbs;
    const auto known = rdma_->flushes.find(where.device);
    if (known != rdma_->flushes.end()) {
        return known->second;
    }
    enum { kAuto, kAlways, kNever };  // pml_beeline_rdma_flush
    Flush needed = flush_needed(write_ordering_of(where), Reader::kAllDevices);
    if (params_.pml_rdma_flush == kAlways && needed == Flush::kNone) {
        needed = Flush::kCall;
    } else if (params_.pml_rdma_flush == kNever) {
        needed = Flush::kNone;
    }
    return rdma_->flushes.emplace(where.device, needed).first->second;
}

/// Handles completions; what has come whole is ended. The number of events.
int Engine::poll_lane() {
    const auto events = static_cast<int>(rdma_->lane->poll());
    if (!rdma_->arrived.empty()) {
        finish_arrived();
    }
    return events;
}

/// Ends the messages that have come, with one flush for all of a device.
void Engine::finish_arrived() {
    using namespace mover::verbs;
    std::vector<std::pair<int, Status>> flushed;  // by device
    for (Request* request : std::exchange(rdma_->arrived, {})) {
        const memory::Pointer& where = request->where_;
        Status status = Status::kOk;
        if (where.kind == memory::Kind::kDevice && flush_of(where) == Flush::kCall) {
            const auto done = std::find_if(flushed.begin(), flushed.end(), [&](const auto& one) {
                return one.first == where.device;
            });
            if (done == flushed.end()) {
                ++rdma_->counters.flushes;
                flushed.emplace_back(where.device, flush_writes(where, Reader::kAllDevices));
                status = flushed.back().second;
            } else {
                status = done->second;
            }
        }
        drop_region(*request);
        request->outcome.reason = Reason::kDirect;
        receive_done(*request, status);
    }
}

/// Notes a request that waits for a peer to which no rail is left: only for so long.
void Engine::may_be_lost(const Request& request) {
    for (const RdmaState::Lost& known : rdma_->lost) {
        if (known.id == request.id_) {
            return;
        }
    }
    rdma_->lost.push_back(
        {request.id_, Clock::now() + std::chrono::seconds(params_.pml_rdma_peer_limit)});
}

/// Ends what has waited too long for a peer that answers nothing.
void Engine::give_up_lost() {
    const Clock::time_point now = Clock::now();
    std::vector<RdmaState::Lost> still;
    for (const RdmaState::Lost& lost : std::exchange(rdma_->lost, {})) {
        Request* request = table_.find(lost.id);
        const bool waits = request != nullptr && (request->kind_ == Request::Kind::kSend
                                                      ? request->awaits_ == Request::Awaits::kAnswer
                                                      : request->awaits_ == Request::Awaits::kRdma);
        if (!waits) {
            continue;
        }
        if (now < lost.limit) {
            still.push_back(lost);
            continue;
        }
        const bool send = request->kind_ == Request::Kind::kSend;
        log(LogLevel::kError,
            "rank %d of communicator %u (process %lld of another node) has said nothing for %d s "
            "since RDMA to it failed: a message of %zu bytes %s it ends with an error",
            send ? request->destination_ : request->outcome.source, request->communicator_->id,
            static_cast<long long>(request->peer_->address.shm.pid), params_.pml_rdma_peer_limit,
            send ? request->buffer_.bytes : request->outcome.bytes, send ? "to" : "from");
        if (send) {
            send_done(*request, protocol::Path::kRdma, Status::kUnreachable);
            continue;
        }
        free_slot(*request);
        Ways ways;
        resume(*request, ways);
        drop_region(*request);
        receive_done(*request, Status::kUnreachable);
    }
    rdma_->lost.insert(rdma_->lost.end(), still.begin(), still.end());
}

/// Late immediates find nothing from now on.
void Engine::free_slot(Request& request) {
    const std::uint32_t index = request.slot_ & kMostSlots;
    RdmaSlot& slot = rdma_->slots[index];
    slot.request = nullptr;
    --slot.from->receives;
    rdma_->free_slots.push_back(index);
    request.awaits_ = Request::Awaits::kNothing;
}

/// The sender's side: writes, or says why not.
void Engine::on_rdma_put(const wire::RdmaPut& put) {
    Request* request = find_send(put.sender_request, Request::Awaits::kAnswer);
    if (request == nullptr) {
        return;
    }
    if (request->data_ == nullptr || put.bytes > request->buffer_.bytes) {
        log_once(LogLevel::kError, "rdma.put",
                 "a peer asks for more than a message has, or for one that it was not offered: "
                 "ignored");
        return;
    }
    if (!start_rdma()) {
        refuse_write(*request, put, Reason::kNoRdmaDevice);
        return;
    }
    if (request->pieces_ != 0) {  // UCX has yet to let go of it
        rdma_->early.push_back(put);
        return;
    }
    auto* to = static_cast<RdmaPeer*>(request->peer_->rdma);
    // The receiver's numbers of rails, and this process's.
    bool connected = to != nullptr;
    RailBits rails = 0;
    std::array<std::uint32_t, wire::kMaxRails> keys{};
    for (unsigned theirs = 0; connected && theirs < wire::kMaxRails; ++theirs) {
        if ((put.rails & bit(theirs)) == 0) {
            continue;
        }
        const std::uint8_t rail = to->own_rail(theirs);
        connected = rail != RdmaPeer::kNoRail;
        if (connected) {
            rails |= bit(rail);
            keys[rail] = put.keys[theirs];
        }
    }
    if (!connected) {
        refuse_write(*request, put, Reason::kRdmaFailed);
        return;
    }
    if (register_memory(*request, request->where_.kind == memory::Kind::kDevice) != Status::kOk ||
        (ports_of(rdma_->rails, rails) & ~request->region_->rails) != 0) {
        refuse_write(*request, put, Reason::kNotRegistered);
        return;
    }
    request->awaits_ = Request::Awaits::kNothing;
    if (rdma_->free_moves.empty()) {
        rdma_->free_moves.push_back(std::make_unique<RdmaMove>());
    }
    RdmaMove& move = *rdma_->free_moves.back().release();
    rdma_->free_moves.pop_back();
    move.request = request;
    move.to = to;
    move.read = false;
    move.receiver_request = put.receiver_request;
    move.immediate = put.immediate;
    ++to->sends;
    to->used = ++rdma_->messages;
    start_shares(move, rails, put.address, keys, put.bytes, false);
}

/// Asks that came while UCX still held the sender's data.
void Engine::early_puts() {
    for (const wire::RdmaPut& put : std::exchange(rdma_->early, {})) {
        on_rdma_put(put);
    }
}

void Engine::refuse_write(const Request& request, const wire::RdmaPut& put, Reason reason) {
    wire::RdmaFailed failed;
    failed.from = own_name();
    failed.sender_request = put.sender_request;
    failed.receiver_request = put.receiver_request;
    failed.immediate = put.immediate;
    failed.reason = static_cast<std::uint8_t>(reason);
    control(*request.peer_, std::as_bytes(std::span(&failed, 1)));
}

/// The receiver's side of a write that failed: asks again, or for another way.
void Engine::on_rdma_failed(const wire::RdmaFailed& failed) {
    RdmaPeer* from = start_rdma() ? rdma_named(failed.from) : nullptr;
    if (from == nullptr) {
        return;
    }
    Request* request = table_.find(failed.receiver_request);
    if (request == nullptr || request->awaits_ != Request::Awaits::kRdma ||
        request->slot_ != failed.immediate || request->peer_ != from->peer) {
        // All of it had come, and what the sender has lost is only word of that.
        wire::Fin fin;
        fin.sender_request = failed.sender_request;
        fin.path = static_cast<std::uint8_t>(protocol::Path::kRdma);
        control(*from->peer, std::as_bytes(std::span(&fin, 1)));
        return;
    }
    free_slot(*request);
    drop_region(*request, true);
    ++rdma_->counters.retries;
    Ways ways;
    resume(*request, ways);
    ++ways.rdma_failed;
    const Reason reason =
        failed.reason < protocol::kReasons ? Reason{failed.reason} : Reason::kRdmaFailed;
    request->outcome.reason = reason;
    if (reason == Reason::kNotRegistered) {
        ways.situation.sender.registers = reason;
    } else if (reason == Reason::kNoRdmaDevice) {
        ways.situation.rdma = reason;
    }
    take_way(*request, ways);
}

Status Engine::start_read(Request& request, Ways& ways, RdmaPeer& from, RailBits rails) {
    request.awaits_ = Request::Awaits::kNothing;
    device_->pending.push_back({&request, ways});
    if (rdma_->free_moves.empty()) {
        rdma_->free_moves.push_back(std::make_unique<RdmaMove>());
    }
    RdmaMove& move = *rdma_->free_moves.back().release();
    rdma_->free_moves.pop_back();
    move.request = &request;
    move.to = &from;
    move.read = true;
    std::array<std::uint32_t, wire::kMaxRails> keys{};
    for (unsigned rail = 0; rail < wire::kMaxRails; ++rail) {
        if ((rails & bit(rail)) != 0) {
            keys[rail] = ways.rdma.keys[from.other[rail]];
        }
    }
    start_shares(move, rails, ways.rdma.address, keys, request.wanted_, true);
    return Status::kOk;
}

/// Starts the parts of a message on these rails, as equal as pages allow.
void Engine::start_shares(RdmaMove& move, RailBits rails, std::uint64_t remote,
                          const std::array<std::uint32_t, wire::kMaxRails>& keys, std::size_t bytes,
                          bool read) {
    const auto count = static_cast<unsigned>(std::popcount(rails));
    const std::uint64_t part = (bytes / count + kAlignment - 1) / kAlignment * kAlignment;
    const auto local = reinterpret_cast<std::uint64_t>(move.request->data_);
    ++rdma_->moves;
    move.failed = false;
    move.left = count + 1;  // and this function
    std::uint64_t offset = 0;
    unsigned seen = 0;
    for (unsigned rail = 0; rail < wire::kMaxRails; ++rail) {
        if ((rails & bit(rail)) == 0) {
            continue;
        }
        const std::uint64_t rest = bytes - offset;
        const std::uint64_t length = ++seen == count ? rest : std::min(part, rest);
        Share& share = move.shares[rail];
        share = {};
        share.done = on_share_done;
        share.owner = &move;
        share.engine = this;
        share.read = read;
        share.tells = !read;
        share.immediate = move.immediate;
        share.local = local + offset;
        share.remote = remote + offset;
        share.local_key = move.request->region_->keys[rdma_->rails[rail]->rail].local;
        share.remote_key = keys[rail];
        share.bytes = length;
        offset += length;
        rdma_->lane->start(move.to->connection, rail, share);
    }
    if (--move.left == 0) {
        if (move.failed) {
            rdma_->failed.push_back(&move);
        } else {
            move_ended(move);
        }
    }
}

/// A failed message goes on from the progress loop: now its connection may be half closed.
void Engine::on_share_done(Share* share, Status status) {
    auto& engine = *static_cast<Engine*>(share->engine);
    auto& move = *static_cast<RdmaMove*>(share->owner);
    move.failed = move.failed || status != Status::kOk;
    if (--move.left != 0) {
        return;
    }
    if (move.failed) {
        engine.rdma_->failed.push_back(&move);
    } else {
        engine.move_ended(move);
    }
}

/// Nothing of a message is under way any more.
void Engine::move_ended(RdmaMove& move) {
    const RdmaMove ended = move;
    rdma_->free_moves.emplace_back(&move);
    --rdma_->moves;
    Request& request = *ended.request;
    if (!ended.read) {
        --ended.to->sends;
        request.outcome.reason = ended.failed ? Reason::kRdmaFailed : Reason::kDirect;
        if (!ended.failed) {
            send_done(request, protocol::Path::kRdma, Status::kOk);
            return;
        }
        ++rdma_->counters.retries;
        drop_region(request, true);
        request.awaits_ = Request::Awaits::kAnswer;
        if (!any_connected(*ended.to)) {
            may_be_lost(request);
        }
        wire::RdmaFailed failed;
        failed.from = own_name();
        failed.sender_request = request.id_;
        failed.receiver_request = ended.receiver_request;
        failed.immediate = ended.immediate;
        failed.reason = static_cast<std::uint8_t>(Reason::kRdmaFailed);
        control(*request.peer_, std::as_bytes(std::span(&failed, 1)));
        return;
    }
    --ended.to->receives;
    Ways ways;
    resume(request, ways);
    if (!ended.failed) {
        wire::Fin fin;
        fin.sender_request = request.remote_id_;
        fin.path = static_cast<std::uint8_t>(protocol::Path::kRdma);
        control(*request.peer_, std::as_bytes(std::span(&fin, 1)));
        rdma_->arrived.push_back(&request);
        return;
    }
    drop_region(request, true);
    ++rdma_->counters.retries;
    ++ways.rdma_failed;
    request.outcome.reason = Reason::kRdmaFailed;
    take_way(request, ways);
}

}  // namespace beeline::engine
