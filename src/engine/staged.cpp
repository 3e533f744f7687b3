// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by chunks through host memory, the sender's side: copies out of the device and the
// wire overlap.
#include <algorithm>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "protocol/chunks.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

void Engine::on_cts(const wire::Cts& cts) {
    Request* request = find_send(cts.sender_request, Request::Awaits::kAnswer);
    if (request == nullptr) {
        return;
    }
    if (cts.choice == wire::OfferType::kBounce) {
        if (request->ring_ == nullptr || request->pieces_ != 0) {
            log_once(LogLevel::kError, "bounce.cts",
                     "a peer chooses a device buffer that it was not offered: ignored");
            return;
        }
        send_bounced(*request, cts);
        return;
    }
    if (cts.choice == wire::OfferType::kShm) {
        start_filling(*request, cts);
        return;
    }
    request->awaits_ = Request::Awaits::kNothing;
    request->cts_seen_ = true;
    request->remote_id_ = cts.receiver_request;
    request->wanted_ = std::min<std::size_t>(cts.bytes, request->buffer_.bytes);
    request->chunk_ = static_cast<std::uint32_t>(protocol::even_chunk(
        request->wanted_, std::min<std::size_t>(cts.chunk_bytes, params_.pml_staging_chunk)));
    request->depth_ = std::min(cts.depth, static_cast<std::uint32_t>(params_.pml_staging_depth));
    request->started_ = 0;
    request->finished_ = 0;
    request->whole_ = cts.choice == wire::OfferType::kUcx && request->data_ != nullptr &&
                      !request->where_.on_device();
    if (request->whole_) {  // UCX carries host memory best in large pieces
        request->chunk_ = wire::kMaxChunkBytes;
    }
    if (request->pieces_ == 0) {  // else UCX still holds the data: on_rendezvous_sent continues
        advance(*request);
    }
}

/// Starts as many pieces as the depth and the free chunks allow, and ends the send when all is
/// sent.
void Engine::advance(Request& request) {
    if (!request.linked()) {
        staged_sends_.push_back(&request);
    }
    while (!request.driver_failed_ && request.started_ < request.wanted_ &&
           request.pieces_ < request.depth_ && start_piece(request)) {
    }
    end_staged_send(request);
}

void Engine::end_staged_send(Request& request) {
    const bool all = request.finished_ == request.wanted_;
    if (request.pieces_ != 0 || (!all && !request.driver_failed_)) {
        return;
    }
    List<Request>::remove(&request);
    if (request.driver_failed_) {
        request.driver_failed_ = false;
        wire::Nack nack;  // to the receiver, who waits for more
        nack.receiver_request = request.remote_id_;
        nack.reason = static_cast<std::uint8_t>(protocol::Reason::kCopyFailed);
        nack.offer = wire::OfferType::kStaged;
        control(*request.peer_, std::as_bytes(std::span(&nack, 1)));
        send_done(request, path_of(request), Status::kDriver);
        return;
    }
    send_done(request, path_of(request), Status::kOk);
}

/// Gets memory for a piece; false when there is none now.
bool Engine::house(Request& request, Piece* piece) {
    if (piece->by_shm) {
        piece->home = Piece::Home::kOwnChunk;
        piece->memory = shm_->take_chunk(piece->index);
        if (piece->memory != nullptr && request.where_.on_device()) {
            pin_own(request.where_);
        }
    } else if (request.where_.on_device() || request.data_ == nullptr) {
        piece->home = Piece::Home::kStaging;
        // Two ranks whose sends hold all chunks could not receive what frees them.
        piece->memory = staging_.take(request.where_, staging_.chunks() / 2);
    } else {
        piece->home = Piece::Home::kNone;
        piece->memory = request.data_ + piece->offset;
    }
    if (piece->memory == nullptr) {
        piece->home = Piece::Home::kNone;
    }
    return piece->memory != nullptr;
}

/// Starts copying a piece's part of the message into its memory.
Result<memory::AsyncCopy> Engine::fill(const Request& request, const Piece& piece) {
    return copy_out(request, piece.offset, piece.length, piece.memory, memory::Pointer{},
                    packing_of(piece));
}

/// Whether kernels reach a piece's memory.
memory::Packing Engine::packing_of(const Piece& piece) const noexcept {
    bool pinned = false;
    switch (piece.home) {
        case Piece::Home::kNone:
            break;
        case Piece::Home::kOwnChunk:
            pinned = !own_pinned_.memory.empty();
            break;
        case Piece::Home::kPeerChunk:
            pinned = piece.sender < sender_pinned_.size() &&
                     !sender_pinned_[piece.sender].memory.empty();
            break;
        case Piece::Home::kStaging:
            pinned = staging_.pinned();
            break;
    }
    return pinned ? memory::Packing::kPinned : memory::Packing::kAsk;
}

/// False when there is no free chunk now. A piece that needs no waiting is on its way before this
/// returns: the next one's copy then overlaps with the wire. The request itself is not ended here.
bool Engine::start_piece(Request& request) {
    const std::size_t length =
        std::min<std::size_t>(request.chunk_, request.wanted_ - request.started_);
    Piece* piece = take_piece(request);
    piece->by_shm = request.peer_->link != nullptr && !request.whole_;
    piece->offset = request.started_;
    piece->length = length;
    if (!house(request, piece)) {
        give_back(piece);
        return false;
    }
    request.started_ += length;
    ++request.pieces_;
    if (piece->home != Piece::Home::kNone) {
        auto copy = fill(request, *piece);
        if (!copy) {
            request.driver_failed_ = true;
            --request.pieces_;
            give_back(piece);
            return false;
        }
        piece->copy = std::move(*copy);
        if (!piece->copy.ended()) {
            copying_.push_back(piece);
            return true;
        }
    }
    send_piece(piece);
    return true;
}

/// Sends a piece whose chunk is filled; without room it stays in to_send_ for the next poll.
void Engine::send_piece(Piece* piece) {
    Request& request = *piece->request;
    wire::Data data;
    data.common.context = request.communicator_->id;
    data.receiver_request = request.remote_id_;
    data.offset = piece->offset;
    data.length = static_cast<std::uint32_t>(piece->length);
    data.slot = piece->index;
    if (piece->by_shm) {
        if (!shm_->send_inline(*request.peer_->link, std::as_bytes(std::span(&data, 1)), {})) {
            to_send_.push_back(piece);
            return;
        }
        piece->home = Piece::Home::kNone;  // the receiver frees the chunk
        piece_sent(piece, Status::kOk);
        return;
    }
    mover::ucx::Operation* operation = ucx_->take();
    operation->header_bytes = wire::encode(data, operation->header);
    operation->owner = piece;
    operation->engine = this;
    operation->done = on_piece_sent;
    // UCX's rendezvous reads the sender's memory, and ends the process where that is not allowed.
    const bool rendezvous = piece->length > limits_.ucx_eager && !request.peer_->guarded;
    const Status status =
        ucx_->send(endpoint(*request.peer_), operation, piece->memory, piece->length, rendezvous);
    if (status != Status::kRetry) {
        piece_sent(piece, status);
    }
}

void Engine::on_piece_sent(mover::ucx::Operation* operation, Status status) {
    auto* piece = static_cast<Piece*>(operation->owner);
    piece->engine->piece_sent(piece, status);
}

void Engine::piece_sent(Piece* piece, Status status) {
    Request& request = *piece->request;
    --request.pieces_;
    if (status == Status::kOk) {
        request.finished_ += piece->length;
    } else {
        request.driver_failed_ = true;
    }
    give_back(piece);
    // advance() goes on, or ends the request, at this or the next turn of the progress loop.
}

void Engine::poll_pieces(int& events) {
    const memory::AsyncCopy* blocked = nullptr;  // nothing behind it on its stream has ended
    for (Piece* piece = copying_.front(); piece != nullptr;) {
        Piece* following = copying_.after(piece);
        const Status status = blocked != nullptr && piece->copy.behind(*blocked)
                                  ? Status::kRetry
                                  : piece->copy.poll();
        if (status == Status::kRetry) {
            blocked = &piece->copy;
        } else {
            ++events;
            List<Piece>::remove(piece);
            if (piece->request->kind_ == Request::Kind::kReceive) {
                piece_received(piece, status);
            } else if (status == Status::kOk) {
                send_piece(piece);
            } else {
                piece_sent(piece, status);
            }
        }
        piece = following;
    }
    List<Piece> ready;  // each is tried once: those without room go back to to_send_
    while (Piece* piece = to_send_.pop_front()) {
        ready.push_back(piece);
    }
    while (Piece* piece = ready.pop_front()) {
        send_piece(piece);
    }
    for (std::size_t tries = waiting_payloads_.size(); tries > 0; --tries) {
        const WaitingPayload waiting = waiting_payloads_.front();
        waiting_payloads_.pop_front();
        if (!on_data_ucx(waiting.data, waiting.payload)) {
            ucx_->reject(waiting.payload);
        }
    }
}

Engine::Piece* Engine::take_piece(Request& request) {
    Piece* piece = free_pieces_;
    if (piece != nullptr) {
        free_pieces_ = piece->next_free;
    } else {
        piece = new Piece;
    }
    piece->engine = this;
    piece->request = &request;
    piece->index = 0;
    return piece;
}

void Engine::give_back(Piece* piece) {
    switch (piece->home) {
        case Piece::Home::kNone:
            break;
        case Piece::Home::kOwnChunk:
            shm_->drop_chunk(piece->index);
            break;
        case Piece::Home::kPeerChunk:
            shm_->release_chunk(piece->sender, piece->index);
            break;
        case Piece::Home::kStaging:
            staging_.give_back(piece->memory);
            break;
    }
    piece->home = Piece::Home::kNone;
    piece->next_free = free_pieces_;
    free_pieces_ = piece;
}

void Engine::pin(Pinned& pinned, std::span<std::byte> memory, const memory::Pointer& side) {
    if (side.context == nullptr) {
        return;  // the driver is in trouble: the copy says so
    }
    pinned.tried = true;
    if (!memory.empty() &&
        memory::register_host(*side.driver, side.context, memory.data(), memory.size())) {
        pinned.memory = memory;
        pinned.side = side;
    }
}

void Engine::pin_own(const memory::Pointer& side) {
    if (!own_pinned_.tried) {
        pin(own_pinned_, shm_->payload(), side);
    }
}

void Engine::pin_payload(std::uint32_t sender, const memory::Pointer& side) {
    if (sender_pinned_.size() <= sender) {
        sender_pinned_.resize(sender + 1);
    }
    if (!sender_pinned_[sender].tried) {
        pin(sender_pinned_[sender], shm_->payload_of(sender), side);
    }
}

}  // namespace beeline::engine
