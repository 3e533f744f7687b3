// SPDX-License-Identifier: BSD-3-Clause
// Receives: posting, probing, and what happens to a message once it is matched.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "engine/ways.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

Status Engine::receive(Request& request, Communicator& communicator, int source, int tag,
                       const Buffer& buffer) {
    resting_ = false;
    request.kind_ = Request::Kind::kReceive;
    request.active_ = true;
    request.communicator_ = &communicator;
    request.buffer_ = buffer;
    request.outcome = {};
    request.source = source;
    request.tag = tag;
    request.pieces_ = 0;
    request.driver_failed_ = false;
    request.looked_ = false;
    request.id_ = 0;
    request.import_ = nullptr;
    if (watched_) {
        watch(request);
        if (communicator.valid(source)) {
            communicator.process(source);  // so that the thread need not leave it to a caller
        }
    }
    if (match::Unexpected* found = communicator.matcher.post(&request)) {
        auto* message = static_cast<Message*>(found);
        deliver(request, message->arrived);
        release(*message);
        drop(message);
    } else if (by_rdma_ && communicator.valid(source)) {
        look_ahead(request, communicator.at(source).process);
    }
    return Status::kOk;
}

/// Asks what the buffer is while its message is on its way from another node, rather than after.
void Engine::look_ahead(Request& request, const Peer* peer) noexcept {
    if (peer != nullptr && peer->link == nullptr && peer->rdma != nullptr &&
        request.buffer_.bytes != 0 && request.buffer_.layout == nullptr) {
        classify(request);
        request.looked_ = true;
    }
}

bool Engine::cancel(Request& request) {
    resting_ = false;
    if (request.kind_ != Request::Kind::kReceive || !request.active_ ||
        !request.communicator_->matcher.cancel(&request)) {
        return false;
    }
    request.outcome.cancelled = true;
    finish(request, Status::kOk);
    return true;
}

Message* Engine::probe(Communicator& communicator, int source, int tag) noexcept {
    return static_cast<Message*>(communicator.matcher.probe(source, tag));
}

void Engine::extract(Communicator& communicator, Message* message) noexcept {
    communicator.matcher.extract(message);
}

Status Engine::receive_matched(Request& request, Communicator& communicator, Message* message,
                               const Buffer& buffer) {
    resting_ = false;
    request.kind_ = Request::Kind::kReceive;
    request.active_ = true;
    request.communicator_ = &communicator;
    request.buffer_ = buffer;
    request.outcome = {};
    request.pieces_ = 0;
    request.driver_failed_ = false;
    request.id_ = 0;
    request.import_ = nullptr;
    if (watched_) {
        watch(request);
    }
    deliver(request, message->arrived);
    release(*message);
    drop(message);
    return Status::kOk;
}

void Engine::deliver(Request& request, const Arrived& arrived) {
    const wire::Envelope& envelope = arrived.envelope;
    request.outcome.source = envelope.source;
    request.outcome.tag = envelope.tag;
    request.outcome.bytes = std::min<std::size_t>(envelope.bytes, request.buffer_.bytes);
    if (envelope.bytes > request.buffer_.bytes) {
        request.outcome.status = Status::kTruncated;
    }
    request.wanted_ = request.outcome.bytes;
    request.remote_id_ = envelope.sender_request;
    request.peer_ = request.communicator_->process(envelope.source);
    request.data_ = nullptr;
    request.bounce_ = nullptr;
    request.awaits_ = Request::Awaits::kNothing;
    if (request.outcome.bytes == 0) {
        request.where_ = {};
    } else {
        if (!request.looked_) {
            classify(request);
        }
        if (request.buffer_.layout != nullptr &&
            request.buffer_.layout->contiguous(request.buffer_.count)) {
            request.buffer_.address = static_cast<std::byte*>(request.buffer_.address) +
                                      request.buffer_.layout->first_offset();
            request.buffer_.layout = nullptr;
        }
        if (request.buffer_.layout == nullptr) {
            request.data_ = static_cast<std::byte*>(request.buffer_.address);
        }
    }
    if (arrived.unreadable) {
        request.outcome.bytes = 0;
        receive_done(request, Status::kDriver);
        return;
    }
    if ((request.peer_ == nullptr &&
         (arrived.body == Body::kOffers || arrived.body == Body::kUcxRendezvous)) ||
        (arrived.body == Body::kOffers && !reachable(*request.peer_))) {
        if (arrived.body == Body::kUcxRendezvous) {
            ucx_->reject(arrived.payload);
        }
        receive_done(request, Status::kUnreachable);
        return;
    }
    if (arrived.synchronous && arrived.body == Body::kEager && request.peer_ != nullptr) {
        wire::Ack ack;
        ack.common.context = arrived.context;
        ack.sender_request = envelope.sender_request;
        control(*request.peer_, std::as_bytes(std::span(&ack, 1)));
    }
    switch (arrived.body) {
        case Body::kEager:
            request.outcome.path = arrived.path;
            request.outcome.reason = protocol::Reason::kSmall;
            if (arrived.assembly != nullptr) {
                assemble_into(request, *arrived.assembly,
                              arrived.data.first(arrived.assembly->received));
                return;
            }
            if (request.where_.on_device() && arrived.shm_sender != Arrived::kNoSender) {
                pin_payload(arrived.shm_sender, request.where_);
            }
            scatter(request, arrived.data.first(request.outcome.bytes),
                    arrived.shm_sender != Arrived::kNoSender);
            return;
        case Body::kSelf:
            from_self(request, *arrived.sender);
            return;
        case Body::kUcxRendezvous:
            from_ucx(request, arrived);
            return;
        case Body::kOffers:
            from_offers(request, arrived);
            return;
    }
}

/// Puts a whole message that is in host memory where it belongs.
Status Engine::put(Request& request, std::span<const std::byte> data) {
    if (data.empty()) {
        return Status::kOk;
    }
    if (request.data_ != nullptr) {
        return memory::copy(request.data_, request.where_, data.data(), memory::Pointer{},
                            data.size());
    }
    return memory::unpack(*request.buffer_.layout, request.buffer_.count, request.buffer_.address,
                          request.where_, 0, data.data(), data.size());
}

/// As put(), of data that CUDA doesn't know, for a device: by way of pinned memory where there is
/// some. Small data is not worth a registration: it takes a slot of ours when those are registered
/// already, else the driver's own staging.
Status Engine::put_pageable(Request& request, std::span<const std::byte> data) {
    std::uint32_t index = 0;
    const bool small = data.size() <= limits_.device_eager;
    std::byte* slot = small && !own_pinned_.memory.empty() ? shm_->take_slot(index) : nullptr;
    std::byte* chunk = slot;
    if (!small && data.size() <= staging_.chunk_bytes()) {
        chunk = staging_.take(request.where_);
    }
    if (chunk == nullptr) {
        return put(request, data);
    }
    std::memcpy(chunk, data.data(), data.size());
    const Status status = put(request, {chunk, data.size()});
    if (slot != nullptr) {
        shm_->drop_slot(index);
    } else {
        staging_.give_back(chunk);
    }
    return status;
}

/// The whole message is in host memory, `pinned` when CUDA knows it: put it where it belongs and be
/// done.
void Engine::scatter(Request& request, std::span<const std::byte> data, bool pinned) {
    const bool staged = !pinned && request.where_.on_device() &&
                        !memory::is_direct(request.where_, request.data_, data.size());
    receive_done(request, staged ? put_pageable(request, data) : put(request, data));
}

void Engine::from_self(Request& request, Request& sender) {
    request.outcome.path = protocol::Path::kSelf;
    request.outcome.reason = protocol::Reason::kSameProcess;
    const std::size_t bytes = request.outcome.bytes;
    if (bytes == 0 || (sender.data_ != nullptr && request.data_ != nullptr)) {
        const Status status =
            memory::copy(request.data_, request.where_, sender.data_, sender.where_, bytes);
        receive_done(request, status);
        send_done(sender, protocol::Path::kSelf, status);
        return;
    }
    // At least one side is not contiguous.
    const Status status = sender.data_ != nullptr && !sender.where_.on_device()
                              ? put(request, {sender.data_, bytes})
                              : through_chunks(sender, request, bytes);
    receive_done(request, status);
    send_done(sender, protocol::Path::kSelf, status);
}

/// Packs and unpacks `bytes` by way of one chunk of host memory.
Status Engine::through_chunks(Request& sender, Request& request, std::size_t bytes) {
    const std::size_t most = std::min(bytes, staging_.chunk_bytes());
    Request& lender = request.where_.on_device() ? request : sender;
    Status status = lend(lender, most);
    for (std::size_t at = 0; at < bytes && status == Status::kOk; at += most) {
        const std::size_t length = std::min(most, bytes - at);
        std::byte* chunk = lender.bounce_;
        status =
            sender.data_ != nullptr
                ? memory::copy(chunk, memory::Pointer{}, sender.data_ + at, sender.where_, length)
                : memory::pack(*sender.buffer_.layout, sender.buffer_.count, sender.buffer_.address,
                               sender.where_, at, chunk, length);
        if (status != Status::kOk) {
            break;
        }
        status =
            request.data_ != nullptr
                ? memory::copy(request.data_ + at, request.where_, chunk, memory::Pointer{}, length)
                : memory::unpack(*request.buffer_.layout, request.buffer_.count,
                                 request.buffer_.address, request.where_, at, chunk, length);
    }
    return status;
}

void Engine::from_ucx(Request& request, const Arrived& arrived) {
    const bool to_device = request.where_.on_device();
    const bool whole = request.data_ != nullptr && arrived.payload.bytes == request.outcome.bytes;
    if ((to_device || !whole) && ucx_->can_reject(arrived.payload)) {
        ucx_->reject(arrived.payload);
        after_refusal(request, arrived.sender_chunk);
        return;
    }
    request.outcome.path = protocol::Path::kUcx;
    if (request.outcome.bytes == 0) {  // too late to refuse, but rejecting ends the send as well
        ucx_->reject(arrived.payload);
        receive_done(request, Status::kOk);
        return;
    }
    request.outcome.reason = protocol::Reason::kHostMemory;
    std::byte* into = request.data_;
    if (to_device || !whole) {
        // And UCX's offer can no longer be refused: fetched whole, then put in place.
        request.bounce_ = static_cast<std::byte*>(std::malloc(arrived.payload.bytes));
        into = request.bounce_;
        if (into == nullptr) {
            ucx_->reject(arrived.payload);
            abandon(request);
            return;
        }
    }
    mover::ucx::Operation* operation = ucx_->take();
    operation->owner = &request;
    operation->engine = this;
    operation->done = on_fetched;
    const Status status = ucx_->receive(arrived.payload, into, operation);
    if (status != Status::kRetry) {
        mover::ucx::Operation ended;
        ended.owner = &request;
        ended.engine = this;
        on_fetched(&ended, status);
    }
}

void Engine::on_fetched(mover::ucx::Operation* operation, Status status) {
    auto& engine = *static_cast<Engine*>(operation->engine);
    auto& request = *static_cast<Request*>(operation->owner);
    if (request.bounce_ != nullptr && status == Status::kOk) {
        engine.scatter(request, {request.bounce_, request.outcome.bytes}, false);
        return;
    }
    engine.receive_done(request, status);
}

void Engine::from_offers(Request& request, const Arrived& arrived) {
    if (arrived.refused_early) {
        after_refusal(request, arrived.sender_chunk);
        return;
    }
    if (request.outcome.bytes == 0) {
        // A receive of nothing: the sender is done, whatever it offered.
        wire::Fin fin;
        fin.sender_request = request.remote_id_;
        if (arrived.blocks) {
            fin.path = static_cast<std::uint8_t>(protocol::Path::kShm);
        }
        control(*request.peer_, std::as_bytes(std::span(&fin, 1)));
        receive_done(request, Status::kOk);
        return;
    }
    if (arrived.blocks) {
        from_blocks(request, arrived);
        return;
    }
    link(*request.peer_);  // whether there is one matters below
    take_way(request, ways_of(request, arrived));
}

/// The sender's UCX rendezvous was refused: asks for the data in the way that suits the receive.
void Engine::after_refusal(Request& request, std::uint32_t sender_chunk) {
    if (request.outcome.bytes == 0) {
        // Not by a FIN, which would not be heard while UCX has yet to tell the sender.
        send_cts(request, 0, sender_chunk, wire::OfferType::kStaged);
        receive_done(request, Status::kOk);
        return;
    }
    if (request.where_.on_device()) {
        refuse(request, protocol::Reason::kReceiverDevice, wire::OfferType::kStaged);
        if (rdma_for_host_sender(request, sender_chunk)) {
            return;
        }
    } else {
        request.outcome.reason = protocol::Reason::kHostMemory;
    }
    const bool straight = request.data_ != nullptr && !request.where_.on_device() &&
                          request.outcome.status != Status::kTruncated;
    ask(request, sender_chunk, straight ? wire::OfferType::kUcx : wire::OfferType::kStaged);
}

/// Tells the sender why its better offer is not taken.
void Engine::refuse(Request& request, protocol::Reason reason, wire::OfferType offer) {
    request.outcome.reason = reason;
    wire::Nack nack;
    nack.sender_request = request.remote_id_;
    nack.reason = static_cast<std::uint8_t>(reason);
    nack.offer = offer;
    control(*request.peer_, std::as_bytes(std::span(&nack, 1)));
}

void Engine::ask_staged(Request& request, std::uint32_t sender_chunk) {
    ask(request, sender_chunk, wire::OfferType::kStaged);
}

/// Asks the sender for the data, in chunks or as UCX carries host memory best.
void Engine::ask(Request& request, std::uint32_t sender_chunk, wire::OfferType choice) {
    request.outcome.path = choice == wire::OfferType::kUcx   ? protocol::Path::kUcx
                           : choice == wire::OfferType::kShm ? protocol::Path::kShm
                                                             : protocol::Path::kStaged;
    request.id_ = table_.add(&request);
    request.started_ = 0;
    request.finished_ = 0;
    send_cts(request, request.wanted_, sender_chunk, choice);
}

void Engine::send_cts(Request& request, std::size_t bytes, std::uint32_t sender_chunk,
                      wire::OfferType choice) {
    wire::Cts cts;
    cts.sender_request = request.remote_id_;
    cts.receiver_request = request.id_;
    cts.bytes = bytes;
    const auto own = static_cast<std::uint32_t>(params_.pml_staging_chunk);
    cts.chunk_bytes = sender_chunk != 0 ? std::min(sender_chunk, own) : own;
    cts.depth = static_cast<std::uint32_t>(params_.pml_staging_depth);
    cts.choice = choice;
    control(*request.peer_, std::as_bytes(std::span(&cts, 1)));
}

/// There is no memory for the message: its sender is asked for nothing, so that it ends, and the
/// receive fails.
void Engine::abandon(Request& request) {
    log(LogLevel::kError, "no memory to receive a message of %zu bytes", request.outcome.bytes);
    send_cts(request, 0, 0, wire::OfferType::kStaged);
    receive_done(request, Status::kNoMemory);
}

}  // namespace beeline::engine
