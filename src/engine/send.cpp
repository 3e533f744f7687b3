// SPDX-License-Identifier: BSD-3-Clause
// The start of a send: which protocol, and the ones that end at once or leave everything to the
// receiver.
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "cuda/driver.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {
namespace {

std::span<const std::byte> bytes_of(const wire::Eager& header) noexcept {
    return std::as_bytes(std::span(&header, 1));
}

}  // namespace

mover::shm::Link* Engine::link(Peer& peer) {
    if (!peer.shm_tried) {
        peer.shm_tried = true;
        if (shm_ != nullptr && peer.same_node && !peer.same_process) {
            auto made = shm_->connect(peer.address.shm);
            if (made) {
                peer.link = std::move(*made);
            } else {
                remote_peers_ = true;
                log_once(
                    LogLevel::kWarning, "shm.connect",
                    "the shared memory of process %lld on this node cannot be reached (%s): its "
                    "messages go over UCX",
                    static_cast<long long>(peer.address.shm.pid), to_string(made.status()));
            }
        }
    }
    return peer.link.get();
}

mover::ucx::Endpoint Engine::endpoint(Peer& peer) {
    if (peer.endpoint == nullptr) {
        auto made = ucx_->connect(peer.address.ucx);
        if (made) {
            peer.endpoint = *made;
        }
    }
    return peer.endpoint;
}

bool Engine::try_control(Peer& peer, std::span<const std::byte> message) {
    if (mover::shm::Link* to = link(peer); to != nullptr) {
        if (message.size() <= mover::shm::Lane::kInlineBytes) {
            return shm_->send_inline(*to, message, {});
        }
        std::uint32_t index = 0;
        std::byte* slot = shm_->take_slot(index);
        if (slot == nullptr) {
            return false;
        }
        std::memcpy(slot, message.data(), message.size());
        if (!shm_->send_slot(*to, index, message.size())) {
            shm_->drop_slot(index);
            return false;
        }
        return true;
    }
    if (peer.rdma != nullptr && say_by_rdma(peer, message)) {
        return true;
    }
    mover::ucx::Endpoint to = endpoint(peer);
    if (to == nullptr || message.size() > mover::ucx::kMaxHeader) {
        return true;  // nothing can be done; the connection error has been logged
    }
    mover::ucx::Operation* operation = ucx_->take();
    std::memcpy(operation->header, message.data(), message.size());
    operation->header_bytes = message.size();
    operation->done = [](mover::ucx::Operation*, Status) {};
    ucx_->send(to, operation, nullptr, 0, false);
    return true;
}

void Engine::control(Peer& peer, std::span<const std::byte> message) {
    if (!controls_.empty() || !try_control(peer, message)) {
        controls_.push_back({&peer, {message.begin(), message.end()}});
    }
}

protocol::SendChoice Engine::choose(const Request& request) {
    protocol::SendFacts facts;
    facts.bytes = request.buffer_.bytes;
    facts.same_process = request.peer_->same_process;
    facts.shared_memory = request.peer_->link != nullptr;
    facts.on_device = request.where_.on_device();
    facts.contiguous = request.data_ != nullptr;
    facts.rdma = facts.on_device && !facts.shared_memory && !facts.same_process &&
                 facts.bytes > limits_.device_eager && may_reach_by_rdma(*request.peer_);
    return protocol::choose_start(facts, limits_);
}

Status Engine::send(Request& request, Communicator& communicator, int destination, int tag,
                    const Buffer& buffer, SendMode mode, const memory::Pointer* where) {
    resting_ = false;
    Peer* peer = communicator.process(destination);
    if (peer == nullptr) {
        return Status::kUnreachable;
    }
    link(*peer);
    request.kind_ = Request::Kind::kSend;
    request.synchronous_ = mode == SendMode::kSynchronous;
    request.active_ = true;
    request.cts_seen_ = false;
    request.whole_ = false;
    request.awaits_ = Request::Awaits::kNothing;
    request.driver_failed_ = false;
    request.put_offered_ = false;
    request.blocks_offered_ = false;
    request.communicator_ = &communicator;
    request.peer_ = peer;
    request.destination_ = destination;
    request.send_tag_ = tag;
    request.buffer_ = buffer;
    request.outcome = {};
    request.pieces_ = 0;
    request.started_ = 0;
    request.id_ = 0;
    request.ring_ = nullptr;
    request.slot_ = UINT32_MAX;  // no receive has that
    if (where != nullptr) {
        request.where_ = *where;
    } else {
        classify(request);
    }
    if (buffer.bytes != 0 && buffer.layout == nullptr) {
        request.data_ = static_cast<std::byte*>(buffer.address);
    } else if (buffer.bytes != 0 && buffer.layout->contiguous(buffer.count)) {
        request.buffer_.layout = nullptr;
        request.data_ = static_cast<std::byte*>(buffer.address) + buffer.layout->first_offset();
        request.buffer_.address = request.data_;
    } else {
        request.data_ = nullptr;
    }
    request.sequence_ = communicator.at(destination).order.next_to_send();
    if (watched_) {
        watch(request);
    }
    const Status status = begin(request);
    return status == Status::kRetry ? Status::kOk : status;
}

/// Carries out the choice. kRetry: the request waits in waiting_sends_. An error here has ended the
/// request already through done(), as the peer's order has moved on; so it is not returned.
Status Engine::begin(Request& request) {
    const protocol::SendChoice choice = choose(request);
    request.outcome.reason = choice.reason;
    Status status = Status::kOk;
    switch (choice.start) {
        case protocol::Start::kSelf:
            status = to_self(request);
            break;
        case protocol::Start::kEagerShm:
            status = eager_shm(request) ? Status::kOk : Status::kRetry;
            break;
        case protocol::Start::kFragments:
            status = fragments(request) ? Status::kOk : Status::kRetry;
            break;
        case protocol::Start::kShmRendezvous:
            status = offer_blocks(request);
            break;
        case protocol::Start::kEagerUcx:
            status = eager_rdma(request);
            if (status == Status::kUnsupported) {
                status = eager_ucx(request);
            }
            break;
        case protocol::Start::kUcxRendezvous:
            status = request.peer_->guarded ? offers(request) : ucx_rendezvous(request);
            break;
        case protocol::Start::kOffers:
            status = offers(request);
            break;
    }
    if (status == Status::kRetry) {
        waiting_sends_.push_back(&request);
        return status;
    }
    if (status != Status::kOk) {
        if (status == Status::kDriver || status == Status::kNoMemory) {
            tell_unreadable(request);
        }
        finish(request, status);
    }
    return Status::kOk;
}

/// Takes the message's turn with one that has no data, so that its receive fails instead of waiting
/// and the messages after it are not held up.
void Engine::tell_unreadable(Request& request) {
    wire::Eager header;
    header.common.context = request.communicator_->id;
    header.common.flags = wire::kUnreadable;
    header.envelope =
        envelope_of(*request.communicator_, request.send_tag_, request.sequence_, 0, 0);
    control(*request.peer_, bytes_of(header));
}

/// The message's bytes into host memory `out`.
Status Engine::gather(Request& request, void* out) {
    if (request.buffer_.bytes == 0) {
        return Status::kOk;
    }
    if (request.data_ != nullptr) {
        return memory::copy(out, memory::Pointer{}, request.data_, request.where_,
                            request.buffer_.bytes);
    }
    return memory::pack(*request.buffer_.layout, request.buffer_.count, request.buffer_.address,
                        request.where_, 0, out, request.buffer_.bytes);
}

/// Makes the data of a send contiguous host memory, by a packed copy where it is not.
Status Engine::to_host(Request& request) {
    if (request.buffer_.bytes == 0 || (request.data_ != nullptr && !request.where_.on_device())) {
        return Status::kOk;
    }
    if (const Status lent = lend(request, request.buffer_.bytes); lent != Status::kOk) {
        return lent;
    }
    const Status status = gather(request, request.bounce_);
    request.data_ = request.bounce_;
    request.where_ = memory::Pointer{};
    return status;
}

/// Gives a request host memory of its own until it ends: from the pinned pool, as long as that has
/// a chunk that is large enough.
Status Engine::lend(Request& request, std::size_t bytes) {
    if (bytes <= staging_.chunk_bytes() && request.where_.on_device()) {
        request.bounce_ = staging_.take(request.where_);
        request.lent_ = request.bounce_ != nullptr;
    }
    if (request.bounce_ == nullptr) {
        request.bounce_ = static_cast<std::byte*>(std::malloc(bytes));
    }
    if (request.bounce_ == nullptr) {
        log(LogLevel::kError, "no memory for a packed copy of %zu bytes", bytes);
        return Status::kNoMemory;
    }
    return Status::kOk;
}

/// What goes before the data of an eager message. A synchronous one gets an id, to be answered by.
wire::Eager Engine::eager_header(Request& request) {
    wire::Eager header;
    header.common.context = request.communicator_->id;
    if (request.synchronous_) {
        header.common.flags = wire::kSync;
        if (request.id_ == 0) {
            request.id_ = table_.add(&request);
        }
    }
    header.envelope = envelope_of(*request.communicator_, request.send_tag_, request.sequence_,
                                  request.buffer_.bytes, request.id_);
    return header;
}

bool Engine::eager_shm(Request& request) {
    const wire::Eager header = eager_header(request);
    const std::size_t bytes = request.buffer_.bytes;
    mover::shm::Link& to = *request.peer_->link;
    if (sizeof header + bytes <= mover::shm::Lane::kInlineBytes && request.data_ != nullptr &&
        !request.where_.on_device()) {
        if (!shm_->send_inline(to, bytes_of(header), {request.data_, bytes})) {
            return false;
        }
    } else if (bytes == 0) {
        if (!shm_->send_inline(to, bytes_of(header), {})) {
            return false;
        }
    } else {
        std::uint32_t index = 0;
        std::byte* slot = shm_->take_slot(index);
        if (slot == nullptr) {
            return false;
        }
        if (request.where_.on_device()) {
            pin_own(request.where_);
        }
        std::memcpy(slot, &header, sizeof header);
        const Status status = gather(request, slot + sizeof header);
        if (status != Status::kOk) {
            shm_->drop_slot(index);
            tell_unreadable(request);
            send_done(request, protocol::Path::kShm, status);
            return true;
        }
        if (!shm_->send_slot(to, index, sizeof header + bytes)) {
            shm_->drop_slot(index);
            return false;
        }
    }
    request.awaits_ = request.synchronous_ ? Request::Awaits::kAck : Request::Awaits::kNothing;
    request.outcome.path = protocol::Path::kShm;
    if (!request.synchronous_) {
        send_done(request, protocol::Path::kShm, Status::kOk);
    }
    return true;
}

Status Engine::eager_ucx(Request& request) {
    mover::ucx::Endpoint to = endpoint(*request.peer_);
    if (to == nullptr) {
        return Status::kUnreachable;
    }
    if (const Status packed = to_host(request); packed != Status::kOk) {
        return packed;
    }
    const wire::Eager header = eager_header(request);
    mover::ucx::Operation* operation = ucx_->take();
    operation->header_bytes = wire::encode(header, operation->header);
    operation->owner = &request;
    operation->engine = this;
    operation->done = on_eager_sent;
    request.awaits_ = request.synchronous_ ? Request::Awaits::kAck : Request::Awaits::kNothing;
    request.outcome.path = protocol::Path::kUcx;
    request.pieces_ = 1;
    const Status status = ucx_->send(to, operation, request.data_, request.buffer_.bytes, false);
    if (status == Status::kRetry) {
        return Status::kOk;
    }
    request.pieces_ = 0;
    if (status == Status::kOk && !request.synchronous_) {
        send_done(request, protocol::Path::kUcx, Status::kOk);
    }
    return status;
}

void Engine::on_eager_sent(mover::ucx::Operation* operation, Status status) {
    auto& engine = *static_cast<Engine*>(operation->engine);
    auto& request = *static_cast<Request*>(operation->owner);
    request.pieces_ = 0;
    if (status != Status::kOk || !request.synchronous_ || request.cts_seen_) {
        engine.send_done(request, protocol::Path::kUcx, status);
    }
}

Status Engine::ucx_rendezvous(Request& request) {
    mover::ucx::Endpoint to = endpoint(*request.peer_);
    if (to == nullptr) {
        return Status::kUnreachable;
    }
    if (const Status packed = to_host(request); packed != Status::kOk) {
        return packed;
    }
    request.id_ = table_.add(&request);
    wire::Rts rts;
    rts.common.context = request.communicator_->id;
    rts.envelope = envelope_of(*request.communicator_, request.send_tag_, request.sequence_,
                               request.buffer_.bytes, request.id_);
    rts.offers[0].type = wire::OfferType::kStaged;
    rts.offers[0].staged.chunk_bytes = static_cast<std::uint32_t>(params_.pml_staging_chunk);
    rts.offer_count = 1;
    mover::ucx::Operation* operation = ucx_->take();
    operation->header_bytes = wire::encode(rts, operation->header);
    operation->owner = &request;
    operation->engine = this;
    operation->done = on_rendezvous_sent;
    request.awaits_ = Request::Awaits::kAnswer;
    request.pieces_ = 1;
    const Status status = ucx_->send(to, operation, request.data_, request.buffer_.bytes, true);
    if (status == Status::kRetry) {
        return Status::kOk;
    }
    request.pieces_ = 0;
    if (status == Status::kOk) {
        send_done(request, protocol::Path::kUcx, Status::kOk);
    }
    return status;
}

void Engine::on_rendezvous_sent(mover::ucx::Operation* operation, Status status) {
    auto& engine = *static_cast<Engine*>(operation->engine);
    auto& request = *static_cast<Request*>(operation->owner);
    --request.pieces_;
    if (status != Status::kCanceled) {
        engine.send_done(request, protocol::Path::kUcx, status);
        return;
    }
    // The receiver wants it another way and says so in a CTS, which may have come already.
    if (request.cts_seen_) {
        engine.advance(request);
    } else if (engine.rdma_ != nullptr) {
        engine.early_puts();
    }
}

Status Engine::offers(Request& request) {
    if (!reachable(*request.peer_)) {
        return Status::kUnreachable;
    }
    wire::Rts rts;
    device_offers(request, rts);
    announce(request, rts);
    return Status::kOk;
}

/// Sends an RTS with the offers that it has, and chunks, which can always be had.
void Engine::announce(Request& request, wire::Rts& rts) {
    rts.common.context = request.communicator_->id;
    rts.common.flags = request.synchronous_ ? wire::kSync : std::uint16_t{0};
    wire::Offer& staged = rts.offers[rts.offer_count++];
    staged.type = wire::OfferType::kStaged;
    staged.staged.chunk_bytes = static_cast<std::uint32_t>(params_.pml_staging_chunk);
    request.id_ = table_.add(&request);
    request.awaits_ = Request::Awaits::kAnswer;
    rts.envelope = envelope_of(*request.communicator_, request.send_tag_, request.sequence_,
                               request.buffer_.bytes, request.id_);
    std::array<std::byte, wire::kMaxRtsBytes> message;
    const std::size_t length = wire::encode(rts, message);
    control(*request.peer_, {message.data(), length});
}

Status Engine::to_self(Request& request) {
    Arrived arrived;
    arrived.body = Body::kSelf;
    arrived.context = request.communicator_->id;
    arrived.envelope = envelope_of(*request.communicator_, request.send_tag_, request.sequence_,
                                   request.buffer_.bytes, 0);
    arrived.sender = &request;
    arrived.path = protocol::Path::kSelf;
    request.outcome.path = protocol::Path::kSelf;
    arrive(arrived);
    return Status::kOk;
}

}  // namespace beeline::engine
