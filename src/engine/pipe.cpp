// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous through shared memory: the receiver of a large host message asks for it, and empties
// blocks while the sender fills others. What nobody has asked for takes no memory but its header.
#include "engine/pipe.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {
namespace {

// While blocks come and go the next one is some hundred nanoseconds away, less than the way through
// the host's progress loop takes; so it is waited for here, this many polls, but others get their
// turn after so many blocks.
constexpr int kLinger = 100;
constexpr int kBlocksInTurn = 16;

}  // namespace

/// Announces the message. A receiver with other memory asks for chunks instead.
Status Engine::offer_blocks(Request& request) {
    wire::Rts rts;
    rts.offers[0].type = wire::OfferType::kShm;
    rts.offer_count = 1;
    request.blocks_offered_ = true;
    announce(request, rts);
    return Status::kOk;
}

/// A matched receive of a message that was announced so.
void Engine::from_blocks(Request& request, const Arrived& arrived) {
    if (request.where_.on_device()) {
        after_refusal(request, arrived.sender_chunk);
        return;
    }
    request.outcome.reason = protocol::Reason::kHostMemory;
    request.awaits_ = Request::Awaits::kBlocks;
    ++awaiting_blocks_;
    ask(request, arrived.sender_chunk, wire::OfferType::kShm);
}

/// The receiver asks for the message: its turn comes after those asked for before.
void Engine::start_filling(Request& request, const wire::Cts& cts) {
    if (!request.blocks_offered_) {
        log_once(LogLevel::kError, "pipe.cts",
                 "a peer asks for blocks of a message that it was not offered so: ignored");
        return;
    }
    request.awaits_ = Request::Awaits::kNothing;
    request.remote_id_ = cts.receiver_request;
    request.wanted_ = std::min<std::size_t>(cts.bytes, request.buffer_.bytes);
    request.started_ = 0;
    Peer& peer = *request.peer_;
    if (peer.pipe == nullptr) {
        peer.pipe = std::make_unique<Pipe>();
        peer.pipe->peer = &peer;
    }
    Pipe& pipe = *peer.pipe;
    pipe.requests.push_back(&request);
    if (!pipe.linked()) {
        pipes_.push_back(&pipe);
        fill(pipe);
    }
}

/// Moves blocks in both directions as long as they flow; the number of events.
int Engine::flow(int arrived) {
    int events = arrived + fill_pipes();
    for (int idle = 0; events != 0 && events < kBlocksInTurn && idle < kLinger && flowing();) {
        const int now = (shm_->pending() ? take_arrived() : 0) + fill_pipes();
        events += now;
        idle = now != 0 ? 0 : idle + 1;
    }
    return events;
}

int Engine::fill_pipes() {
    int filled = 0;
    for (Pipe* pipe = pipes_.front(); pipe != nullptr;) {
        Pipe* following = pipes_.after(pipe);
        filled += fill(*pipe);
        pipe = following;
    }
    return filled;
}

/// Fills and sends what blocks there are; the number of them. Ends the messages that are sent.
int Engine::fill(Pipe& pipe) {
    int filled = 0;
    while (Request* request = pipe.requests.front()) {
        if (request->started_ == request->wanted_) {
            List<Request>::remove(request);
            send_done(*request, protocol::Path::kShm, Status::kOk);
        } else if (fill_block(pipe, *request)) {
            ++filled;
        } else {
            return filled;
        }
    }
    // The end of a message may have called progress, which may have come here before.
    if (pipe.linked()) {
        List<Pipe>::remove(&pipe);
        while (pipe.leased != 0) {
            shm_->return_block(pipe.blocks[--pipe.leased]);
        }
        pipe.next = 0;
    }
    return filled;
}

/// False when there is no idle block or no room for its message now.
bool Engine::fill_block(Pipe& pipe, Request& request) {
    std::byte* memory = pipe.leased != 0 ? shm_->idle_block(pipe.blocks[pipe.next]) : nullptr;
    if (memory == nullptr) {
        std::uint32_t another = 0;
        if (pipe.leased == static_cast<std::size_t>(params_.pml_shm_depth) ||
            !shm_->lease_block(another)) {
            return false;
        }
        // The others are still to be emptied: this one comes before them.
        std::copy_backward(pipe.blocks.begin() + pipe.next, pipe.blocks.begin() + pipe.leased,
                           pipe.blocks.begin() + pipe.leased + 1);
        pipe.blocks[pipe.next] = another;
        ++pipe.leased;
        memory = shm_->idle_block(another);
    }
    const std::uint32_t index = pipe.blocks[pipe.next];
    if (pipe.ready == 0) {
        pipe.ready =
            std::min<std::size_t>(shm_->geometry().block_bytes, request.wanted_ - request.started_);
        if (request.data_ != nullptr) {
            std::memcpy(memory, request.data_ + request.started_, pipe.ready);
        } else {
            datatype::pack(*request.buffer_.layout, request.buffer_.count, request.buffer_.address,
                           request.started_, {memory, pipe.ready});
        }
    }
    wire::Data data;
    data.common.context = request.communicator_->id;
    data.common.flags = wire::kInBlock;
    data.receiver_request = request.remote_id_;
    data.offset = request.started_;
    data.length = static_cast<std::uint32_t>(pipe.ready);
    data.slot = index;
    shm_->set_block(index, true);
    if (!shm_->send_inline(*pipe.peer->link, std::as_bytes(std::span(&data, 1)), {})) {
        shm_->set_block(index, false);
        return false;
    }
    request.started_ += pipe.ready;
    pipe.ready = 0;
    pipe.next = pipe.next + 1 == pipe.leased ? 0 : pipe.next + 1;
    return true;
}

/// A block of a message that was asked for.
void Engine::on_block(const wire::Data& data, std::uint32_t sender) {
    const std::span<const std::byte> block = shm_->block_of(sender, data.slot);
    Request* request = expects(data);
    if (request == nullptr) {
        shm_->release_block(sender, data.slot);
        return;
    }
    if (data.length > block.size() || data.offset != request->finished_) {
        log_once(LogLevel::kError, "pipe.order",
                 "a block of %u bytes at %llu is not the next of its message: ignored", data.length,
                 static_cast<unsigned long long>(data.offset));
        shm_->release_block(sender, data.slot);
        return;
    }
    const std::span<const std::byte> in = block.first(data.length);
    if (request->data_ != nullptr) {
        std::memcpy(request->data_ + data.offset, in.data(), in.size());
    } else {
        datatype::unpack(*request->buffer_.layout, request->buffer_.count, request->buffer_.address,
                         data.offset, in);
    }
    shm_->release_block(sender, data.slot);
    request->finished_ += in.size();
    if (request->finished_ == request->wanted_) {
        --awaiting_blocks_;
        receive_done(*request, Status::kOk);
    }
}

}  // namespace beeline::engine
