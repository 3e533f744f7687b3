// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by CUDA IPC, the other way round: the receiver names its memory, the sender maps it
// and copies into it, or packs data with gaps there. Serves where the receiver cannot map the
// sender's memory, or where that cannot be exported but the receiver's can.
#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {
namespace {

/// The way to the receiver's memory, as verdicts know it: seen from the writing side.
mover::cuda_ipc::Pair pair_of_put(const Peer& peer, int device, const wire::Put& put) noexcept {
    return {key_of(peer), put.into.device_uuid, device, mover::cuda_ipc::HandleKind::kLegacy};
}

}  // namespace

/// Asks the sender to write; false when this process's memory cannot be exported.
bool Engine::ask_put(Request& request, Ways& ways, protocol::Path path) {
    device_->quiet_polls = 0;
    auto handle = exports_.handle_of(request.where_, key_of(*request.peer_));
    tell_freed();
    if (!handle) {
        return false;
    }
    request.id_ = table_.add(&request);
    request.awaits_ = Request::Awaits::kPut;
    request.outcome.path = path;
    wire::Put put;
    put.sender_request = request.remote_id_;
    put.receiver_request = request.id_;
    put.bytes = request.wanted_;
    put.refused = std::exchange(ways.unsaid, {});
    static_assert(sizeof *handle == sizeof put.into.handle);
    std::memcpy(put.into.handle.data(), &*handle, sizeof *handle);
    put.into.base = request.where_.base;
    put.into.offset = reinterpret_cast<std::uint64_t>(request.data_) - request.where_.base;
    put.into.allocation_bytes = request.where_.size;
    put.into.buffer_id = request.where_.buffer_id;
    put.into.device_uuid = mover::cuda_ipc::uuid_of(*request.where_.driver, request.where_.device);
    control(*request.peer_, std::as_bytes(std::span(&put, 1)));
    return true;
}

/// The sender's side: maps and copies, or refuses and waits for another answer.
void Engine::on_put(const wire::Put& put) {
    Request* request = find_send(put.sender_request, Request::Awaits::kAnswer);
    if (request == nullptr) {
        return;
    }
    if (!request->put_offered_ || request->pieces_ != 0) {
        log_once(LogLevel::kError, "put.not_offered",
                 "a peer asks to be written to for a message that was not offered so: ignored");
        return;
    }
    for (const wire::Put::Refusal& refused : put.refused) {
        if (refused.offer != wire::OfferType::kNone) {
            on_refusal(*request, refused);
        }
    }
    const auto pair = pair_of_put(*request->peer_, request->where_.device, put);
    if (!device_->verdicts.allows(pair)) {
        refuse_put(*request, put.receiver_request, protocol::Reason::kRefused);
        return;
    }
    memory::Pointer to = request->where_;  // the copy runs on the sender's device
    to.kind = memory::Kind::kDevice;
    const std::size_t bytes = std::min<std::size_t>(put.bytes, request->buffer_.bytes);
    // The first copy after a device reset finds it out; the second has a new mapping.
    for (int attempt = 0; attempt < 2; ++attempt) {
        mover::cuda_ipc::Import* import = nullptr;
        if (!map_target(*request, put, import)) {
            refuse_put(*request, put.receiver_request, protocol::Reason::kSenderCannotOpen);
            return;
        }
        auto* target = reinterpret_cast<void*>(import->mapped + put.into.offset);
        auto copy = copy_out(*request, 0, bytes, target, to, memory::Packing::kPinned,
                             memory::WhenLost::kFail);
        if (copy) {
            request->awaits_ = Request::Awaits::kNothing;
            request->remote_id_ = put.receiver_request;
            request->import_ = import;
            request->copy_ = std::move(*copy);
            puts_.push_back(request);
            return;
        }
        imports_.discard(import);
        if (copy.status() != Status::kNotFound) {
            break;
        }
    }
    refuse_put(*request, put.receiver_request, protocol::Reason::kCopyFailed);
}

/// The mapping of what is to be written to, in use; false when there is none.
bool Engine::map_target(Request& request, const wire::Put& put, mover::cuda_ipc::Import*& import) {
    if (const unsigned lost = memory::contexts_lost(); lost != contexts_lost_) {
        contexts_lost_ = lost;
        imports_.forget_lost();
    }
    CUipcMemHandle handle;
    std::memcpy(&handle, put.into.handle.data(), sizeof handle);
    const memory::Pointer& from = request.where_;
    auto opened =
        imports_.acquire(*from.driver, from.context, key_of(*request.peer_), put.into.base,
                         put.into.allocation_bytes, put.into.buffer_id, handle);
    if (!opened) {
        device_->verdicts.failed(pair_of_put(*request.peer_, request.where_.device, put),
                                 "cuIpcOpenMemHandle for writing", imports_.last_error());
        return false;
    }
    if ((*opened)->users == 1) {
        device_->verdicts.succeeded(pair_of_put(*request.peer_, request.where_.device, put));
    }
    import = *opened;
    return true;
}

/// Tells the receiver to ask for another way.
void Engine::refuse_put(Request& request, std::uint64_t receiver_request, protocol::Reason reason) {
    request.awaits_ = Request::Awaits::kAnswer;
    if (!protocol::is_fallback(
            request.outcome.reason)) {  // what was in the way of a better one stays
        request.outcome.reason = reason;
    }
    wire::Nack nack;
    nack.receiver_request = receiver_request;
    nack.reason = static_cast<std::uint8_t>(reason);
    nack.offer = wire::OfferType::kPut;
    control(*request.peer_, std::as_bytes(std::span(&nack, 1)));
}

void Engine::poll_puts(int& events) {
    for (Request* request = puts_.front(); request != nullptr;) {
        Request* following = puts_.after(request);
        const Status status = request->copy_.poll();
        if (status != Status::kRetry) {
            ++events;
            List<Request>::remove(request);
            mover::cuda_ipc::Import* import = std::exchange(request->import_, nullptr);
            if (status == Status::kOk) {
                imports_.release(import);
                wire::PutDone done;
                done.receiver_request = request->remote_id_;
                control(*request->peer_, std::as_bytes(std::span(&done, 1)));
                request->outcome.reason = protocol::Reason::kDirect;
                send_done(*request, put_path_of(*request), Status::kOk);
            } else {
                imports_.discard(import);
                refuse_put(*request, request->remote_id_, protocol::Reason::kCopyFailed);
            }
        }
        request = following;
    }
}

/// The receiver's side: the sender cannot write, and another way is taken.
void Engine::put_refused(const wire::Nack& nack) {
    Request* request = find_request(nack.receiver_request, Request::Kind::kReceive);
    Ways ways;
    if (request == nullptr || request->awaits_ != Request::Awaits::kPut ||
        !resume(*request, ways)) {
        return;
    }
    request->awaits_ = Request::Awaits::kNothing;
    if (nack.reason == static_cast<std::uint8_t>(protocol::Reason::kRefused)) {
        request->peer_->writes_refused = true;
    } else {
        exports_.forget(request->where_.base);  // the handle may be at fault
        tell_freed();
    }
    const protocol::Reason reason = nack.reason < protocol::kReasons
                                        ? protocol::Reason{nack.reason}
                                        : protocol::Reason::kSenderCannotOpen;
    if (!protocol::is_fallback(request->outcome.reason)) {
        request->outcome.reason = reason;
    }
    ways.situation.sender.maps = protocol::Reason::kSenderCannotOpen;
    take_way(*request, ways);
}

void Engine::on_put_done(const wire::PutDone& done) {
    Request* request = find_request(done.receiver_request, Request::Kind::kReceive);
    Ways ways;
    if (request == nullptr || request->awaits_ != Request::Awaits::kPut ||
        !resume(*request, ways)) {
        log_once(LogLevel::kError, "put.not_asked",
                 "a peer says that it has written a message that it was not asked to: ignored");
        return;
    }
    request->awaits_ = Request::Awaits::kNothing;
    request->outcome.reason = protocol::Reason::kDirect;
    receive_done(*request, Status::kOk);
}

}  // namespace beeline::engine
