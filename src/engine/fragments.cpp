// SPDX-License-Identifier: BSD-3-Clause
// Host messages of medium size through shared memory: one slot is emptied while the next is filled,
// which beats a rendezvous until the system call it needs pays off.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"

namespace beeline::engine {

/// Fills and sends as many slots as there are; false when there is more to send and no slot or
/// queue room.
bool Engine::fragments(Request& request) {
    mover::shm::Link& to = *request.peer_->link;
    const std::size_t total = request.buffer_.bytes;
    if (request.id_ == 0) {
        request.id_ = table_.add(&request);
        request.outcome.path = protocol::Path::kShm;
        request.pieces_ = 1;  // an early ACK waits for the last fragment
    }
    while (request.started_ < total) {
        std::uint32_t index = 0;
        std::byte* slot = shm_->take_slot(index);
        if (slot == nullptr) {
            return false;
        }
        const bool first = request.started_ == 0;
        const std::size_t head = first ? sizeof(wire::Eager) : sizeof(wire::Data);
        const std::size_t length = std::min(total - request.started_, shm_->slot_bytes() - head);
        if (first) {
            wire::Eager header;
            header.common.context = request.communicator_->id;
            header.common.flags = static_cast<std::uint16_t>(
                (length < total ? wire::kMore : 0) | (request.synchronous_ ? wire::kSync : 0));
            header.envelope = envelope_of(*request.communicator_, request.send_tag_,
                                          request.sequence_, total, request.id_);
            std::memcpy(slot, &header, sizeof header);
        } else {
            wire::Data header;
            header.common.context = request.communicator_->id;
            header.common.flags = wire::kFragment;
            header.receiver_request = request.id_;
            header.offset = request.started_;
            header.length = static_cast<std::uint32_t>(length);
            std::memcpy(slot, &header, sizeof header);
        }
        if (request.data_ != nullptr) {
            std::memcpy(slot + head, request.data_ + request.started_, length);
        } else {
            memory::pack(*request.buffer_.layout, request.buffer_.count, request.buffer_.address,
                         request.where_, request.started_, slot + head, length);
        }
        if (!shm_->send_slot(to, index, head + length)) {
            shm_->drop_slot(index);
            return false;
        }
        request.started_ += length;
        request.awaits_ = request.synchronous_ ? Request::Awaits::kAck : Request::Awaits::kNothing;
    }
    request.pieces_ = 0;
    if (!request.synchronous_ || request.cts_seen_) {
        send_done(request, protocol::Path::kShm, Status::kOk);
    }
    return true;
}

/// Null when the sender already has a message of this id under way.
Assembly* Engine::start_assembly(const Arrived& arrived, std::uint32_t sender) {
    for (const auto& other : assemblies_) {
        if (other->id == arrived.envelope.sender_request && other->sender == sender) {
            return nullptr;
        }
    }
    auto assembly = std::make_unique<Assembly>();
    assembly->sender = sender;
    assembly->id = arrived.envelope.sender_request;
    assembly->total = arrived.envelope.bytes;
    assembly->received = arrived.data.size();
    assemblies_.push_back(std::move(assembly));
    return assemblies_.back().get();
}

/// The message has found its receive: what is there of it goes to its place, and the rest will
/// follow.
void Engine::assemble_into(Request& request, Assembly& assembly, std::span<const std::byte> start) {
    assembly.message = nullptr;
    assembly.request = &request;
    assembly.room = request.outcome.bytes;
    if (request.data_ != nullptr && !request.where_.on_device()) {
        assembly.into = request.data_;
    } else if (assembly.room != 0) {
        // Not contiguous or not the CPU's to write: whole first, then in place.
        if (const Status lent = lend(request, assembly.room); lent != Status::kOk) {
            assembly.request = nullptr;
            receive_done(request, lent);
            return;
        }
        assembly.into = request.bounce_;
    }
    const std::size_t length = std::min(start.size(), assembly.room);
    if (length != 0) {
        std::memcpy(assembly.into, start.data(), length);
    }
}

void Engine::on_fragment(const wire::Data& header, std::span<const std::byte> data,
                         std::uint32_t sender) {
    const auto found = std::find_if(assemblies_.begin(), assemblies_.end(), [&](const auto& one) {
        return one->id == header.receiver_request && one->sender == sender;
    });
    if (found == assemblies_.end() || header.offset != (*found)->received ||
        header.length != data.size() || data.size() > (*found)->total - header.offset) {
        log_once(LogLevel::kError, "fragments.order",
                 "a fragment of %zu bytes at %llu belongs to no message: ignored", data.size(),
                 static_cast<unsigned long long>(header.offset));
        return;
    }
    Assembly& assembly = **found;
    if (assembly.into != nullptr && header.offset < assembly.room) {
        std::memcpy(assembly.into + header.offset, data.data(),
                    std::min<std::size_t>(data.size(), assembly.room - header.offset));
    }
    assembly.received += data.size();
    if (assembly.received == assembly.total) {
        const std::unique_ptr<Assembly> whole = std::move(*found);
        *found = std::move(assemblies_.back());
        assemblies_.pop_back();
        assembled(*whole);
    }
}

void Engine::assembled(Assembly& assembly) {
    if (assembly.message != nullptr) {
        assembly.message->arrived.assembly = nullptr;  // from here on an ordinary eager message
        return;
    }
    if (assembly.request == nullptr) {
        return;
    }
    Request& request = *assembly.request;
    if (request.bounce_ == nullptr) {
        receive_done(request, Status::kOk);
        return;
    }
    scatter(request, {request.bounce_, request.outcome.bytes}, request.lent_);
}

/// Nobody wants the message: its remaining fragments are dropped as they come.
void Engine::disown(Assembly* assembly) noexcept {
    assembly->message = nullptr;
    assembly->request = nullptr;
    assembly->into = nullptr;
    assembly->room = 0;
}

}  // namespace beeline::engine
