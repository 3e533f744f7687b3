// SPDX-License-Identifier: BSD-3-Clause
// Small messages of device memory, and what large ones need to be said, by SEND over a connection
// that its test has found good. A message that finds no room or no rail goes by UCX, and sequence
// numbers put the two ways in order.
//
// A rail that breaks leaves open whether what was under way has come: it is said again by UCX. So
// everything that goes this way may come twice, and is ignored the second time: messages by their
// sequence number, answers by the state of the request that they name, and what asks for a write by
// its immediate.
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "engine/rdma_state.hpp"
#include "memory/copy.hpp"
#include "protocol/select.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::verbs::Parcel;
using mover::verbs::Share;
using protocol::Reason;

namespace {

/// What may go by SEND beside whole messages. What connections themselves need to be said does not.
bool may_go(wire::MessageType type) noexcept {
    switch (type) {
        case wire::MessageType::kRts:
        case wire::MessageType::kCts:
        case wire::MessageType::kFin:
        case wire::MessageType::kAck:
        case wire::MessageType::kNack:
        case wire::MessageType::kRdmaPut:
            return true;
        default:
            return false;
    }
}

}  // namespace

/// The first rail by which messages may go to a process; kMaxRails when there is none now.
unsigned Engine::message_rail(const RdmaPeer& to) const noexcept {
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        if ((to.confirmed & bit(rail)) != 0 && to.connection.connected(rail) &&
            rdma_->rails[rail]->up) {
            return rail;
        }
    }
    return wire::kMaxRails;
}

/// Whether messages to a process go by RDMA, now or once there is a connection.
bool Engine::may_reach_by_rdma(const Peer& peer) {
    return !peer.rdma_refused && preference_ != protocol::Preference::kStaged && start_rdma();
}

/// Says something without data; false when UCX has to.
bool Engine::say_by_rdma(Peer& peer, std::span<const std::byte> message) {
    auto* to = static_cast<RdmaPeer*>(peer.rdma);
    if (to == nullptr || to->confirmed == 0 || !may_go(wire::peek(message))) {
        return false;
    }
    const unsigned rail = message_rail(*to);
    if (rail == wire::kMaxRails ||
        message.size() > std::min(to->message_bytes, rdma_->lane->message_bytes())) {
        return false;
    }
    Parcel* parcel = rdma_->lane->take(to->connection, rail);
    if (parcel == nullptr) {
        return false;
    }
    std::memcpy(parcel->memory, message.data(), message.size());
    parcel->length = message.size();
    parcel->owner = to;
    parcel->engine = this;
    parcel->done = on_said;
    to->used = ++rdma_->messages;
    rdma_->lane->send(to->connection, rail, *parcel);
    return true;
}

void Engine::on_said(Share* share, Status status) {
    auto& engine = *static_cast<Engine*>(share->engine);
    if (status == Status::kOk || engine.rdma_->closing) {
        return;
    }
    engine.rdma_->said_again = true;
    const auto& to = *static_cast<RdmaPeer*>(share->owner);
    const auto said = static_cast<Parcel*>(share)->written();
    // What waits for an answer waits only for so long.
    wire::Rts rts;
    wire::RdmaPut put;
    const std::uint64_t waits = wire::decode(said, rts)   ? rts.envelope.sender_request
                                : wire::decode(said, put) ? put.receiver_request
                                                          : 0;
    if (const Request* request = waits != 0 ? engine.table_.find(waits) : nullptr;
        request != nullptr && !engine.any_connected(to)) {
        engine.may_be_lost(*request);
    }
    engine.control(*to.peer, said);
}

/// Sends a small message. kUnsupported: UCX has to take it; kRetry: when there is room. The first
/// one of device memory to a process makes the connection, without waiting for it.
Status Engine::eager_rdma(Request& request) {
    const bool on_device = request.where_.on_device();
    if (!on_device &&
        (request.peer_->rdma == nullptr || request.buffer_.bytes > limits_.eager_rdma(false))) {
        return Status::kUnsupported;
    }
    if (!may_reach_by_rdma(*request.peer_) || rdma_->lane->message_bytes() == 0) {
        return Status::kUnsupported;
    }
    RdmaPeer& to = rdma_peer(*request.peer_);
    const unsigned rail = message_rail(to);
    if (rail == wire::kMaxRails) {
        if (!on_device) {
            return Status::kUnsupported;
        }
        if (rdma_->device.driver == nullptr && request.where_.kind == memory::Kind::kDevice) {
            rdma_->device = request.where_;
        }
        rdma_connection(to, true);
        return Status::kUnsupported;
    }
    if (sizeof(wire::Eager) + request.buffer_.bytes >
        std::min(to.message_bytes, rdma_->lane->message_bytes())) {
        return Status::kUnsupported;
    }
    Parcel* parcel = rdma_->lane->take(to.connection, rail);
    if (parcel == nullptr) {
        return Status::kRetry;
    }
    const wire::Eager header = eager_header(request);
    std::memcpy(parcel->memory, &header, sizeof header);
    parcel->length = sizeof header;
    if (const Status status = add_data(request, *parcel, rail); status != Status::kOk) {
        rdma_->lane->give_back(*parcel);
        return status;
    }
    request.outcome.path = protocol::Path::kRdma;
    if (parcel->bytes == 0 && !request.synchronous_) {
        send_copied(to, rail, *parcel);
        send_done(request, protocol::Path::kRdma, Status::kOk);
        return Status::kOk;
    }
    parcel->owner = &request;
    parcel->engine = this;
    parcel->done = on_eager_rdma_sent;
    request.awaits_ = request.synchronous_ ? Request::Awaits::kAck : Request::Awaits::kNothing;
    request.pieces_ = 1;
    to.used = ++rdma_->messages;
    rdma_->lane->send(to.connection, rail, *parcel);
    return Status::kOk;
}

/// The card gathers the data where it may, else it is copied into the parcel; so are a few bytes
/// that the processor can reach, with which the parcel may still go to the card by value.
Status Engine::add_data(Request& request, Parcel& parcel, unsigned rail) {
    const std::size_t bytes = request.buffer_.bytes;
    const unsigned port = rdma_->rails[rail]->rail;
    const bool copies = memory::is_direct(request.where_, request.data_, bytes);
    if (bytes != 0 && !copies && request.data_ != nullptr &&
        request.where_.kind == memory::Kind::kDevice &&
        rdma_->regions->may_register(request.where_, rdma_->ports) &&
        register_memory(request, true) == Status::kOk) {
        if ((request.region_->rails >> port & 1U) != 0) {
            parcel.local = reinterpret_cast<std::uint64_t>(request.data_);
            parcel.local_key = request.region_->keys[port].local;
            parcel.bytes = bytes;
            return Status::kOk;
        }
        drop_region(request);
    }
    parcel.length += bytes;
    return gather(request, parcel.memory + sizeof(wire::Eager));
}

/// Sends a message whose data has been copied; its send may end.
void Engine::send_copied(RdmaPeer& to, unsigned rail, Parcel& parcel) {
    parcel.owner = &to;
    parcel.engine = this;
    parcel.done = on_copied_sent;
    parcel.quiet = true;
    to.used = ++rdma_->messages;
    rdma_->lane->send(to.connection, rail, parcel);
}

/// Of a message whose send has ended already.
void Engine::on_copied_sent(Share* share, Status status) {
    auto& engine = *static_cast<Engine*>(share->engine);
    if (status == Status::kOk || engine.rdma_->closing) {
        return;
    }
    engine.rdma_->said_again = true;
    ++engine.rdma_->counters.retries;
    const auto& to = *static_cast<RdmaPeer*>(share->owner);
    if (!engine.eager_again(*to.peer, static_cast<Parcel*>(share)->written())) {
        log(LogLevel::kError,
            "a message to process %lld, under way when its connection broke, "
            "cannot be sent again",
            static_cast<long long>(to.peer->address.shm.pid));
    }
}

/// Sends an eager message by UCX, from a copy of it; false when that cannot be done.
bool Engine::eager_again(Peer& peer, std::span<const std::byte> message) {
    mover::ucx::Endpoint by = endpoint(peer);
    const auto data = message.subspan(sizeof(wire::Eager));
    void* memory = by != nullptr ? std::malloc(data.size() + 1) : nullptr;
    if (memory == nullptr) {
        return false;
    }
    std::memcpy(memory, data.data(), data.size());
    mover::ucx::Operation* operation = ucx_->take();
    std::memcpy(operation->header, message.data(), sizeof(wire::Eager));
    operation->header_bytes = sizeof(wire::Eager);
    operation->owner = memory;
    operation->done = [](mover::ucx::Operation* ended, Status) { std::free(ended->owner); };
    const Status status = ucx_->send(by, operation, memory, data.size(), false);
    if (status != Status::kRetry) {
        std::free(memory);
    }
    return status == Status::kRetry || status == Status::kOk;
}

void Engine::on_eager_rdma_sent(Share* share, Status status) {
    auto& engine = *static_cast<Engine*>(share->engine);
    auto& request = *static_cast<Request*>(share->owner);
    request.pieces_ = 0;
    engine.drop_region(request, status != Status::kOk);
    if (status == Status::kOk) {
        if (!request.synchronous_ || request.cts_seen_) {
            engine.send_done(request, protocol::Path::kRdma, Status::kOk);
        }
        return;
    }
    if (request.cts_seen_ || engine.rdma_->closing) {  // it has come
        engine.send_done(request, protocol::Path::kRdma,
                         request.cts_seen_ ? Status::kOk : Status::kCanceled);
        return;
    }
    engine.rdma_->said_again = true;
    ++engine.rdma_->counters.retries;
    request.outcome.reason = Reason::kRdmaFailed;
    if (const Status again = engine.eager_ucx(request); again != Status::kOk) {
        if (again == Status::kDriver || again == Status::kNoMemory) {
            engine.tell_unreadable(request);
        }
        engine.finish(request, again);
    }
}

/// Tells the other end that its pattern has come by a rail, by a message over that rail: it may
/// send messages now, and this has tried how.
void Engine::confirm_rail(RdmaPeer& to, unsigned rail) {
    Parcel* parcel = rdma_->lane->take(to.connection, rail);
    if (parcel == nullptr) {
        return;  // it takes none
    }
    wire::RdmaRails message;
    message.from = own_name();
    message.epoch = to.epoch;
    message.peer_epoch = to.peer_epoch;
    message.tested = bit(rail);
    std::memcpy(parcel->memory, &message, sizeof message);
    parcel->length = sizeof message;
    parcel->done = [](Share*, Status) {};
    rdma_->lane->send(to.connection, rail, *parcel);
}

void Engine::rail_confirmed(RdmaPeer& to, unsigned rail, std::span<const std::byte> in) {
    wire::RdmaRails message;
    if (!wire::decode(in, message) || message.epoch != to.peer_epoch ||
        message.peer_epoch != to.epoch || message.tested != bit(to.other[rail])) {
        return;
    }
    to.confirmed |= bit(rail);
}

/// The lane's: a message has come.
void Engine::on_parcel(void* self, mover::verbs::Connection& connection, unsigned rail,
                       std::span<const std::byte> message) {
    auto& engine = *static_cast<Engine*>(self);
    const wire::MessageType type = wire::peek(message);
    switch (type) {
        case wire::MessageType::kEager:
            if (engine.take_eager_rdma(message)) {
                return;
            }
            engine.on_eager(message, message.subspan(std::min(message.size(), sizeof(wire::Eager))),
                            Arrived::kNoSender, protocol::Path::kRdma);
            return;
        case wire::MessageType::kRts:
            engine.on_rts(message, nullptr);
            return;
        case wire::MessageType::kRdmaPut:
            engine.on_rdma_control(message);
            return;
        case wire::MessageType::kRdmaRails:
            engine.rail_confirmed(*static_cast<RdmaPeer*>(connection.owner), rail, message);
            return;
        default:
            if (may_go(type)) {
                engine.on_control(message);
            } else {
                engine.malformed(message, "RDMA");
            }
    }
}

/// Whether something that comes twice is no fault of the sender's.
bool Engine::may_come_twice() const noexcept {
    return rdma_ != nullptr && rdma_->said_again;
}

}  // namespace beeline::engine
