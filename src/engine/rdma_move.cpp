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
#include "protocol/rdma.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::verbs::Share;
using protocol::Reason;

namespace {

constexpr unsigned kMostAttempts = 4;       // of a message by RDMA
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
    const bool relays = read && !protocol::is_reached(situation.receiver);
    if (!relays &&
        register_memory(request, request.where_.kind == memory::Kind::kDevice) != Status::kOk) {
        situation.receiver.registers = Reason::kNotRegistered;
        situation.receiver.relays = ways.rdma.rails != 0 && may_relay(request.where_);
        request.outcome.reason = Reason::kNotRegistered;
        return Status::kUnsupported;
    }
    if (relays) {
        request.outcome.reason =
            situation.receiver.contiguous ? situation.receiver.registers : Reason::kReceiverLayout;
    }
    const mover::verbs::RailSet registered =
        relays ? rdma_->relay_region->rails : request.region_->rails;
    RailBits usable = 0;
    RailBits up = 0;
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        const mover::verbs::Port& port = *rdma_->rails[rail];
        if (!from.connection.connected(rail)) {
            continue;
        }
        const bool offered = ways.rdma.rails == 0 || (ways.rdma.rails & bit(from.other[rail])) != 0;
        if (offered && (registered >> port.rail & 1U) != 0) {
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

/// The sender's side: writes, or says why not.
void Engine::on_rdma_put(const wire::RdmaPut& put) {
    Request* request = find_send(put.sender_request, Request::Awaits::kAnswer);
    if (request == nullptr) {
        return;
    }
    if (request->slot_ == put.immediate) {
        return;  // it has come before
    }
    if (put.bytes > request->buffer_.bytes) {
        log_once(LogLevel::kError, "rdma.put", "a peer asks for more than a message has: ignored");
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
    const mover::verbs::RailSet ports = ports_of(rdma_->rails, rails);
    const bool direct =
        request->data_ != nullptr &&
        register_memory(*request, request->where_.kind == memory::Kind::kDevice) == Status::kOk &&
        (ports & ~request->region_->rails) == 0;
    if (!direct && (!may_relay(request->where_) || (ports & ~rdma_->relay_region->rails) != 0)) {
        refuse_write(*request, put, Reason::kNotRegistered);
        return;
    }
    request->awaits_ = Request::Awaits::kNothing;
    request->slot_ = put.immediate;
    RdmaMove& move = take_move(*request, *to, false);
    move.receiver_request = put.receiver_request;
    move.immediate = put.immediate;
    ++to->sends;
    to->used = ++rdma_->messages;
    if (direct) {
        start_shares(move, rails, put.address, keys, put.bytes);
    } else {
        start_relay(move, rails, put.address, keys, put.bytes);
    }
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

Status Engine::start_read(Request& request, Ways& ways, RdmaPeer& from, RailBits rails) {
    request.awaits_ = Request::Awaits::kNothing;
    device_->pending.push_back({&request, ways});
    RdmaMove& move = take_move(request, from, true);
    std::array<std::uint32_t, wire::kMaxRails> keys{};
    for (unsigned rail = 0; rail < wire::kMaxRails; ++rail) {
        if ((rails & bit(rail)) != 0) {
            keys[rail] = ways.rdma.keys[from.other[rail]];
        }
    }
    if (request.region_ != nullptr) {
        start_shares(move, rails, ways.rdma.address, keys, request.wanted_);
    } else {
        start_relay(move, rails, ways.rdma.address, keys, request.wanted_);
    }
    return Status::kOk;
}

Engine::RdmaMove& Engine::take_move(Request& request, RdmaPeer& to, bool read) {
    if (rdma_->free_moves.empty()) {
        rdma_->free_moves.push_back(std::make_unique<RdmaMove>());
    }
    RdmaMove& move = *rdma_->free_moves.back().release();
    rdma_->free_moves.pop_back();
    move.request = &request;
    move.to = &to;
    move.read = read;
    move.relayed = false;
    return move;
}

/// Starts the parts of a message on these rails, as equal as pages allow.
void Engine::start_shares(RdmaMove& move, RailBits rails, std::uint64_t remote,
                          const std::array<std::uint32_t, wire::kMaxRails>& keys,
                          std::size_t bytes) {
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
        share.verb = move.read ? Share::Verb::kRead : Share::Verb::kWrite;
        share.tells = !move.read;
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
        if (ended.failed || !ended.relayed) {
            request.outcome.reason = ended.failed ? Reason::kRdmaFailed : Reason::kDirect;
        }
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
