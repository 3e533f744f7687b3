// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous through a bounce buffer on the sender's device: chunks are copied into its slots, and
// out of them by the receiver, who gives each back.
#include <algorithm>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

void Engine::send_bounced(Request& request, const wire::Cts& cts) {
    request.awaits_ = Request::Awaits::kNothing;
    request.cts_seen_ = true;
    request.remote_id_ = cts.receiver_request;
    request.wanted_ = std::min<std::size_t>(cts.bytes, request.buffer_.bytes);
    request.chunk_ =
        std::min(cts.chunk_bytes, static_cast<std::uint32_t>(request.ring_->slot_bytes));
    request.depth_ = std::min(cts.depth, request.ring_->slots);
    request.started_ = 0;
    request.finished_ = 0;
    device_->sends.push_back(&request);
    advance_bounced(request);
}

/// Starts as many chunks as the depth and the free slots allow; ends the send when all are back.
void Engine::advance_bounced(Request& request) {
    while (!request.driver_failed_ && request.started_ < request.wanted_ &&
           request.pieces_ < request.depth_ && fill_slot(request)) {
    }
    const bool all = request.finished_ == request.wanted_;
    if (request.pieces_ != 0 || (!all && !request.driver_failed_)) {
        return;
    }
    List<Request>::remove(&request);
    request.ring_ = nullptr;
    if (!request.driver_failed_) {
        send_done(request, protocol::Path::kCudaBounce, Status::kOk);
        return;
    }
    request.driver_failed_ = false;
    wire::Nack nack;  // to the receiver, who waits for more
    nack.receiver_request = request.remote_id_;
    nack.reason = static_cast<std::uint8_t>(protocol::Reason::kCopyFailed);
    nack.offer = wire::OfferType::kBounce;
    control(*request.peer_, std::as_bytes(std::span(&nack, 1)));
    send_done(request, protocol::Path::kCudaBounce, Status::kDriver);
}

/// False when there is no free slot for this peer now, or the copy could not be started. A peer has
/// at most as many slots as are left for the others, who need not wait for one that makes no
/// progress.
bool Engine::fill_slot(Request& request) {
    std::uint32_t slot = 0;
    if (request.ring_->free_slots.size() <= request.peer_->bounce_slots ||
        !request.ring_->take(slot)) {
        return false;
    }
    const std::size_t length =
        std::min<std::size_t>(request.chunk_, request.wanted_ - request.started_);
    auto* into = reinterpret_cast<void*>(request.ring_->slot(slot));
    auto copy = copy_out(request, request.started_, length, into, request.ring_->memory,
                         memory::Packing::kPinned);
    if (!copy) {
        request.ring_->give_back(slot);
        request.driver_failed_ = true;
        return false;
    }
    BounceChunk* chunk = device_->take_chunk();
    chunk->request = &request;
    chunk->ring = request.ring_;
    chunk->slot = slot;
    chunk->offset = request.started_;
    chunk->length = length;
    chunk->copy = std::move(*copy);
    request.started_ += length;
    ++request.pieces_;
    ++request.peer_->bounce_slots;
    device_->copying.push_back(chunk);
    return true;
}

/// False when there is no room in the queue.
bool Engine::send_slot(const BounceChunk& chunk) {
    wire::Data data;
    data.common.context = chunk.request->communicator_->id;
    data.common.flags = wire::kOnDevice;
    data.receiver_request = chunk.request->remote_id_;
    data.offset = chunk.offset;
    data.length = static_cast<std::uint32_t>(chunk.length);
    data.slot = chunk.slot;
    return shm_->send_inline(*chunk.request->peer_->link, std::as_bytes(std::span(&data, 1)), {});
}

void Engine::slot_back(BounceChunk* chunk, Status status) {
    Request& request = *chunk->request;
    --request.pieces_;
    request.finished_ += chunk->length;
    request.driver_failed_ = request.driver_failed_ || status != Status::kOk;
    chunk->ring->give_back(chunk->slot);
    --request.peer_->bounce_slots;
    device_->spare.push_back(chunk);
    advance_bounced(request);
    // The slot may serve another message; each goes on as far as it can.
    for (Request* other = device_->sends.front(); other != nullptr;) {
        Request* following = device_->sends.after(other);
        if (other->pieces_ < other->depth_) {
            advance_bounced(*other);
        }
        other = following;
    }
}

void Engine::on_slot_back(const wire::DataAck& ack) {
    for (BounceChunk* chunk = device_->sent.front(); chunk != nullptr;
         chunk = device_->sent.after(chunk)) {
        if (chunk->request->id_ == ack.sender_request && chunk->offset == ack.offset) {
            List<BounceChunk>::remove(chunk);
            slot_back(chunk, Status::kOk);
            return;
        }
    }
    log_once(LogLevel::kError, "bounce.ack",
             "a peer gives back a slot of the device buffer that it does not have: ignored");
}

/// The receiver's side: the buffer is mapped, the chunks are asked for.
void Engine::receive_bounced(Request& request, const wire::IpcOffer& offer,
                             mover::cuda_ipc::Import* import) {
    request.import_ = import;
    request.chunk_ = static_cast<std::uint32_t>(offer.detail);
    request.depth_ = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(offer.allocation_bytes / offer.detail, wire::kMaxDepth));
    request.outcome.path = protocol::Path::kCudaBounce;
    if (request.outcome.reason == protocol::Reason::kDirect ||
        request.outcome.reason == protocol::Reason::kNotOffered) {
        request.outcome.reason = protocol::Reason::kBounced;
    }
    request.started_ = 0;
    request.finished_ = 0;
    request.id_ = table_.add(&request);
    wire::Cts cts;
    cts.sender_request = request.remote_id_;
    cts.receiver_request = request.id_;
    cts.bytes = request.wanted_;
    cts.chunk_bytes = request.chunk_;
    cts.depth = request.depth_;
    cts.choice = wire::OfferType::kBounce;
    control(*request.peer_, std::as_bytes(std::span(&cts, 1)));
}

void Engine::on_slot_filled(const wire::Data& data) {
    Request* request = expects(data);
    if (request == nullptr) {
        return;
    }
    if (request->outcome.path != protocol::Path::kCudaBounce || request->import_ == nullptr ||
        data.slot >= request->depth_ || data.length > request->chunk_) {
        log_once(LogLevel::kError, "bounce.slot",
                 "a chunk names slot %u of a device buffer that its message does not use: ignored",
                 data.slot);
        return;
    }
    BounceChunk* chunk = device_->take_chunk();
    chunk->request = request;
    chunk->offset = data.offset;
    chunk->length = data.length;
    request->started_ += data.length;
    ++request->pieces_;
    memory::Pointer from = request->where_;
    from.kind = memory::Kind::kDevice;
    const CUdeviceptr source =
        request->import_->mapped + std::uint64_t{data.slot} * request->chunk_;
    const auto* out = reinterpret_cast<const void*>(source);
    auto copy = copy_in(*request, data.offset, data.length, out, from, memory::Packing::kPinned);
    if (!copy) {
        slot_emptied(chunk, copy.status());
        return;
    }
    chunk->copy = std::move(*copy);
    device_->receiving.push_back(chunk);
}

void Engine::slot_emptied(BounceChunk* chunk, Status status) {
    Request& request = *chunk->request;
    wire::DataAck ack;
    ack.sender_request = request.remote_id_;
    ack.offset = chunk->offset;
    control(*request.peer_, std::as_bytes(std::span(&ack, 1)));
    --request.pieces_;
    request.finished_ += chunk->length;
    request.driver_failed_ = request.driver_failed_ || status != Status::kOk;
    device_->spare.push_back(chunk);
    if (request.finished_ == request.wanted_ && request.pieces_ == 0) {
        const bool failed = request.driver_failed_;
        request.driver_failed_ = false;
        receive_done(request, failed ? Status::kDriver : Status::kOk);
    }
}

void Engine::poll_bounces(int& events) {
    for (BounceChunk* chunk = device_->receiving.front(); chunk != nullptr;) {
        BounceChunk* following = device_->receiving.after(chunk);
        if (const Status status = chunk->copy.poll(); status != Status::kRetry) {
            ++events;
            List<BounceChunk>::remove(chunk);
            slot_emptied(chunk, status);
        }
        chunk = following;
    }
    while (BounceChunk* chunk = device_->copying.front()) {  // they finish in order
        const Status status = chunk->copy.poll();
        if (status == Status::kRetry) {
            break;
        }
        ++events;
        List<BounceChunk>::remove(chunk);
        if (status == Status::kOk) {
            device_->to_send.push_back(chunk);
        } else {
            slot_back(chunk, status);
        }
    }
    while (BounceChunk* chunk = device_->to_send.front()) {
        if (!send_slot(*chunk)) {
            break;
        }
        List<BounceChunk>::remove(chunk);
        device_->sent.push_back(chunk);
    }
}

bool Engine::bouncing() const noexcept {
    return !device_->receiving.empty() || !device_->copying.empty() || !device_->to_send.empty();
}

}  // namespace beeline::engine
