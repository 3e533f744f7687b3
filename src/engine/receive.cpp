// SPDX-License-Identifier: BSD-3-Clause
// Receives: posting, probing, and what happens to a message once it is matched.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

Status Engine::receive(Request& request, Communicator& communicator, int source, int tag,
                       const Buffer& buffer) {
    request.kind_ = Request::Kind::kReceive;
    request.active_ = true;
    request.communicator_ = &communicator;
    request.buffer_ = buffer;
    request.outcome = {};
    request.source = source;
    request.tag = tag;
    request.pieces_ = 0;
    request.driver_failed_ = false;
    request.id_ = 0;
    watch(request);
    if (watched_ && communicator.valid(source)) {
        communicator.process(source);  // so that the thread need not leave the message to a caller
    }
    if (match::Unexpected* found = communicator.matcher.post(&request)) {
        auto* message = static_cast<Message*>(found);
        deliver(request, message->arrived);
        release(*message);
        drop(message);
    }
    return Status::kOk;
}

bool Engine::cancel(Request& request) {
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
    request.kind_ = Request::Kind::kReceive;
    request.active_ = true;
    request.communicator_ = &communicator;
    request.buffer_ = buffer;
    request.outcome = {};
    request.pieces_ = 0;
    request.driver_failed_ = false;
    request.id_ = 0;
    watch(request);
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
        classify(request);
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
    if (request.peer_ == nullptr &&
        (arrived.body == Body::kOffers || arrived.body == Body::kUcxRendezvous)) {
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
            request.outcome.reason = protocol::Reason::kSmall;
            if (arrived.assembly != nullptr) {
                assemble_into(request, *arrived.assembly,
                              arrived.data.first(arrived.assembly->received));
                return;
            }
            if (request.where_.on_device() && arrived.shm_sender != Arrived::kNoSender) {
                pin_payload(arrived.shm_sender, request.where_);
            }
            scatter(request, arrived.data.first(request.outcome.bytes));
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

/// The whole message is in host memory: put it where it belongs and be done.
void Engine::scatter(Request& request, std::span<const std::byte> data) {
    Status status = Status::kOk;
    if (data.empty()) {
        status = Status::kOk;
    } else if (request.data_ != nullptr) {
        status = memory::copy(request.data_, request.where_, data.data(), memory::Pointer{},
                              data.size());
    } else {
        status =
            memory::unpack(*request.buffer_.layout, request.buffer_.count, request.buffer_.address,
                           request.where_, 0, data.data(), data.size());
    }
    if (request.outcome.path == protocol::Path::kNone) {
        request.outcome.path = request.peer_ != nullptr && request.peer_->link != nullptr
                                   ? protocol::Path::kShm
                                   : protocol::Path::kUcx;
    }
    receive_done(request, status);
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
    // At least one side is not contiguous: through packed host memory.
    std::byte* packed = nullptr;
    const std::byte* data = sender.data_;
    Status status = Status::kOk;
    if (data == nullptr || sender.where_.on_device()) {
        packed = static_cast<std::byte*>(std::malloc(sender.buffer_.bytes));
        status = packed != nullptr ? gather(sender, packed) : Status::kNoMemory;
        data = packed;
    }
    if (status == Status::kOk) {
        scatter(request, {data, bytes});
    } else {
        receive_done(request, status);
    }
    std::free(packed);
    send_done(sender, protocol::Path::kSelf, status);
}

void Engine::from_ucx(Request& request, const Arrived& arrived) {
    const bool to_device = request.data_ != nullptr && request.where_.on_device();
    if (to_device && ucx_->can_reject(arrived.payload)) {
        ucx_->reject(arrived.payload);
        refuse(request, protocol::Reason::kReceiverDevice);
        ask_staged(request, arrived.sender_chunk);
        return;
    }
    if (arrived.payload.bytes > request.outcome.bytes && fetch_part(request, arrived)) {
        return;
    }
    request.outcome.path = protocol::Path::kUcx;
    request.outcome.reason = protocol::Reason::kHostMemory;
    std::byte* into = request.data_;
    if (into == nullptr || to_device || arrived.payload.bytes != request.outcome.bytes) {
        // Not contiguous, longer than the receive, or for a device after UCX's offer can no longer
        // be refused: fetched whole, then put in place.
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

/// A message longer than its receive: UCX would bring all of it, for which there may be no memory,
/// so the part that fits is asked for in chunks. False when UCX's offer can no longer be refused.
bool Engine::fetch_part(Request& request, const Arrived& arrived) {
    const bool told = ucx_->can_reject(arrived.payload);
    if (!told && request.outcome.bytes != 0) {
        return false;
    }
    ucx_->reject(arrived.payload);
    if (request.outcome.bytes != 0) {
        ask_staged(request, arrived.sender_chunk);
        return true;
    }
    if (told) {
        send_cts(request, 0, 0);  // ends the send
    }
    request.outcome.path = protocol::Path::kUcx;
    receive_done(request, Status::kOk);
    return true;
}

void Engine::on_fetched(mover::ucx::Operation* operation, Status status) {
    auto& engine = *static_cast<Engine*>(operation->engine);
    auto& request = *static_cast<Request*>(operation->owner);
    if (request.bounce_ != nullptr && request.data_ != nullptr && status == Status::kOk) {
        status = memory::copy(request.data_, request.where_, request.bounce_, memory::Pointer{},
                              request.outcome.bytes);
        std::free(request.bounce_);
        request.bounce_ = nullptr;
    }
    engine.receive_done(request, status);
}

void Engine::from_offers(Request& request, const Arrived& arrived) {
    if (request.outcome.bytes == 0) {
        // A receive of nothing: the sender is done, whatever it offered.
        wire::Fin fin;
        fin.sender_request = request.remote_id_;
        control(*request.peer_, std::as_bytes(std::span(&fin, 1)));
        receive_done(request, Status::kOk);
        return;
    }
    link(*request.peer_);  // whether there is one matters below
    protocol::Situation situation = situation_of(request, arrived);
    if (arrived.ipc != nullptr || arrived.put) {
        const protocol::Reason better =
            protocol::ipc_get.obstacle(situation, limits_);  // what keeps from the best way
        request.outcome.reason =
            better == protocol::Reason::kNone ? protocol::Reason::kDirect : better;
    }
    if (tracing_) [[unlikely]] {
        trace_offers(request, situation);
    }
    for (bool told = false;;) {
        switch (protocol::choose_offer(situation, costs_, preference_)->id) {
            case protocol::Id::kIpcGet:
                if (start_pull(request, *arrived.ipc)) {
                    request.peer_->gets_failed = 0;
                    return;
                }
                request.peer_->gets_failed += request.peer_->gets_failed < UINT8_MAX ? 1 : 0;
                situation.receiver.maps = protocol::Reason::kOpenFailed;
                refuse(request, protocol::Reason::kOpenFailed);
                told = true;
                continue;
            case protocol::Id::kIpcPut:
                if (ask_put(request)) {
                    return;
                }
                situation.receiver.exports = protocol::Reason::kExportFailed;
                continue;
            default:
                if (arrived.ipc != nullptr && !told) {
                    refuse(request, request.outcome.reason == protocol::Reason::kDirect
                                        ? protocol::Reason::kAsked
                                        : request.outcome.reason);
                }
                ask_staged(request, arrived.sender_chunk);
                return;
        }
    }
}

/// What the RTS and this process's own parameters and memory say. The sender, told of the
/// receiver's part, would see the same.
protocol::Situation Engine::situation_of(const Request& request,
                                         const Arrived& arrived) const noexcept {
    // A way that failed for several messages in a row is not tried again.
    constexpr std::uint8_t kGiveUp = 4;
    protocol::Situation situation;
    situation.bytes = request.outcome.bytes;
    situation.same_node = request.peer_->same_node;
    situation.shared_memory = request.peer_->link != nullptr;
    situation.ipc_enabled = params_.pml_cuda_ipc;
    situation.sender.on_device = true;
    situation.sender.exports =
        arrived.ipc != nullptr ? protocol::Reason::kDirect : protocol::Reason::kNotOffered;
    situation.sender.maps = !arrived.put ? protocol::Reason::kNotOffered
                            : request.peer_->puts_failed >= kGiveUp
                                ? protocol::Reason::kSenderCannotOpen
                                : protocol::Reason::kDirect;
    situation.receiver.on_device = request.where_.on_device();
    situation.receiver.contiguous = request.data_ != nullptr;
    situation.receiver.exports =
        request.where_.ipc_capable ? protocol::Reason::kDirect : protocol::Reason::kNotExportable;
    situation.receiver.maps = request.peer_->gets_failed >= kGiveUp ? protocol::Reason::kOpenFailed
                                                                    : protocol::Reason::kDirect;
    return situation;
}

/// Tells the sender why its better offer is not taken.
void Engine::refuse(Request& request, protocol::Reason reason) {
    request.outcome.reason = reason;
    wire::Nack nack;
    nack.sender_request = request.remote_id_;
    nack.reason = static_cast<std::uint8_t>(reason);
    nack.offer = wire::OfferType::kIpc;
    control(*request.peer_, std::as_bytes(std::span(&nack, 1)));
}

void Engine::ask_staged(Request& request, std::uint32_t sender_chunk) {
    request.outcome.path = protocol::Path::kStaged;
    if (request.data_ == nullptr) {
        request.bounce_ = static_cast<std::byte*>(std::malloc(request.outcome.bytes));
        request.data_ = request.bounce_;
        if (request.bounce_ == nullptr) {
            abandon(request);
            return;
        }
    }
    request.id_ = table_.add(&request);
    request.started_ = 0;
    request.finished_ = 0;
    send_cts(request, request.wanted_, sender_chunk);
}

void Engine::send_cts(Request& request, std::size_t bytes, std::uint32_t sender_chunk) {
    wire::Cts cts;
    cts.sender_request = request.remote_id_;
    cts.receiver_request = request.id_;
    cts.bytes = bytes;
    const auto own = static_cast<std::uint32_t>(params_.pml_staging_chunk);
    cts.chunk_bytes = sender_chunk != 0 ? std::min(sender_chunk, own) : own;
    cts.depth = static_cast<std::uint32_t>(params_.pml_staging_depth);
    cts.choice = wire::OfferType::kStaged;
    control(*request.peer_, std::as_bytes(std::span(&cts, 1)));
}

/// There is no memory for the message: its sender is asked for nothing, so that it ends, and the
/// receive fails.
void Engine::abandon(Request& request) {
    log(LogLevel::kError, "no memory to receive a message of %zu bytes", request.outcome.bytes);
    send_cts(request, 0, 0);
    receive_done(request, Status::kNoMemory);
}

}  // namespace beeline::engine
