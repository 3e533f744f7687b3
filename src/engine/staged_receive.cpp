// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by chunks through host memory, the receiver's side.
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

/// The receive this chunk belongs to, if it has room for it.
Request* Engine::expects(const wire::Data& data) noexcept {
    Request* request = find_request(data.receiver_request, Request::Kind::kReceive);
    if (request == nullptr) {
        return nullptr;
    }
    const bool in_block = (data.common.flags & wire::kInBlock) != 0;
    if (request->awaits_ == Request::Awaits::kPut ||
        in_block != (request->awaits_ == Request::Awaits::kBlocks)) {
        log_once(
            LogLevel::kError, "staged.not_asked",
            "a chunk comes for a message that its sender was asked to move otherwise: ignored");
        return nullptr;
    }
    if (data.offset > request->wanted_ || data.length > request->wanted_ - data.offset) {
        log_once(LogLevel::kError, "staged.range",
                 "a chunk at %llu of %u bytes lies outside its message of %zu bytes: ignored",
                 static_cast<unsigned long long>(data.offset), data.length, request->wanted_);
        return nullptr;
    }
    return request;
}

void Engine::on_data_shm(const wire::Data& data, std::uint32_t sender) {
    const std::span<std::byte> chunk = shm_->chunk_of(sender, data.slot);
    Request* request = expects(data);
    if (request == nullptr || data.length > chunk.size()) {
        shm_->release_chunk(sender, data.slot);
        return;
    }
    Piece* piece = take_piece(*request);
    piece->home = Piece::Home::kPeerChunk;
    piece->by_shm = true;
    piece->sender = sender;
    piece->index = data.slot;
    piece->memory = chunk.data();
    piece->offset = data.offset;
    piece->length = data.length;
    request->started_ += data.length;
    ++request->pieces_;
    if (request->where_.on_device()) {
        pin_payload(sender, request->where_);
    }
    place(*request, piece);
}

/// Starts copying a piece's memory to its part of the message.
Result<memory::AsyncCopy> Engine::spread(const Request& request, const Piece& piece) {
    return copy_in(request, piece.offset, piece.length, piece.memory, memory::Pointer{},
                   packing_of(piece));
}

/// Copies a piece to where it belongs, in the background when that is on a device.
void Engine::place(Request& request, Piece* piece) {
    auto copy = spread(request, *piece);
    if (!copy) {
        piece_received(piece, copy.status());
        return;
    }
    piece->copy = std::move(*copy);
    if (piece->copy.ended()) {
        piece_received(piece, Status::kOk);
    } else {
        copying_.push_back(piece);
    }
}

void Engine::piece_received(Piece* piece, Status status) {
    Request& request = *piece->request;
    --request.pieces_;
    request.finished_ += piece->length;
    if (status != Status::kOk) {
        request.driver_failed_ = true;  // the rest still comes, and is taken
    }
    give_back(piece);
    if (request.finished_ == request.wanted_ && request.pieces_ == 0) {
        const bool failed = request.driver_failed_;
        request.driver_failed_ = false;
        receive_done(request, failed ? Status::kDriver : Status::kOk);
    }
}

/// Returns true when the payload was kept.
bool Engine::on_data_ucx(const wire::Data& data, const mover::ucx::Payload& payload) {
    Request* request = expects(data);
    const bool straight =
        request != nullptr && request->data_ != nullptr && !request->where_.on_device();
    if (request == nullptr || (!straight && data.length > staging_.chunk_bytes())) {
        if (payload.rendezvous) {
            ucx_->reject(payload);
        }
        return payload.rendezvous;
    }
    if (payload.rendezvous) {
        return fetch(*request, data, payload);
    }
    Piece* piece = take_piece(*request);
    piece->by_shm = false;
    piece->offset = data.offset;
    piece->length = data.length;
    piece->memory = straight ? nullptr : staging_.take(request->where_);
    request->started_ += data.length;
    ++request->pieces_;
    if (piece->memory != nullptr) {
        piece->home = Piece::Home::kStaging;
        std::memcpy(piece->memory, payload.data, data.length);
        place(*request, piece);
        return false;
    }
    // Host memory, or no chunk free: straight from UCX's buffer, now.
    const Status status = request->data_ != nullptr
                              ? memory::copy(request->data_ + data.offset, request->where_,
                                             payload.data, memory::Pointer{}, data.length)
                              : memory::unpack(*request->buffer_.layout, request->buffer_.count,
                                               request->buffer_.address, request->where_,
                                               data.offset, payload.data, data.length);
    piece_received(piece, status);
    return false;
}

bool Engine::fetch(Request& request, const wire::Data& data, const mover::ucx::Payload& payload) {
    const bool straight = request.data_ != nullptr && !request.where_.on_device();
    std::byte* into = straight ? request.data_ + data.offset : staging_.take(request.where_);
    if (into == nullptr) {
        waiting_payloads_.push_back({data, payload});
        return true;
    }
    Piece* piece = take_piece(request);
    piece->by_shm = false;
    piece->home = straight ? Piece::Home::kNone : Piece::Home::kStaging;
    piece->memory = into;
    piece->offset = data.offset;
    piece->length = data.length;
    request.started_ += data.length;
    ++request.pieces_;
    mover::ucx::Operation* operation = ucx_->take();
    operation->owner = piece;
    operation->engine = this;
    operation->done = on_piece_fetched;
    const Status status = ucx_->receive(payload, into, operation);
    if (status != Status::kRetry) {
        mover::ucx::Operation ended;
        ended.owner = piece;
        on_piece_fetched(&ended, status);
    }
    return true;
}

void Engine::on_piece_fetched(mover::ucx::Operation* operation, Status status) {
    auto* piece = static_cast<Piece*>(operation->owner);
    Engine& engine = *piece->engine;
    if (status == Status::kOk && piece->home == Piece::Home::kStaging) {
        engine.place(*piece->request, piece);
    } else {
        engine.piece_received(piece, status);
    }
}

/// The sender cannot read its memory any more: the receive ends with what it has.
void Engine::sender_failed(const wire::Nack& nack) {
    Request* request = find_request(nack.receiver_request, Request::Kind::kReceive);
    if (request == nullptr || request->awaits_ == Request::Awaits::kPut ||
        request->awaits_ == Request::Awaits::kBlocks) {
        return;
    }
    if (request->pieces_ != 0) {
        request->driver_failed_ = true;
        request->wanted_ = request->started_;  // what has come is taken, the last piece ends it
        return;
    }
    receive_done(*request, Status::kDriver);
}

}  // namespace beeline::engine
