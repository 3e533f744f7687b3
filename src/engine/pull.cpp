// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by CUDA IPC: the receiver maps the sender's allocation and copies out of it.
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

bool Engine::start_pull(Request& request, const wire::IpcOffer& offer) {
    CUipcMemHandle handle;
    static_assert(sizeof handle == sizeof offer.handle);
    std::memcpy(&handle, offer.handle.data(), sizeof handle);
    const memory::Pointer& to = request.where_;
    memory::Pointer from = to;
    from.kind = memory::Kind::kDevice;
    // The first copy after a device reset finds it out; the second has a new mapping.
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (const unsigned lost = memory::contexts_lost(); lost != contexts_lost_) {
            contexts_lost_ = lost;
            imports_.forget_lost();
        }
        auto import =
            imports_.acquire(*to.driver, to.context, reinterpret_cast<std::uint64_t>(request.peer_),
                             offer.base, offer.allocation_bytes, offer.buffer_id, handle);
        if (!import) {
            return false;
        }
        const auto* source = reinterpret_cast<const void*>((*import)->mapped + offer.offset);
        auto copy = memory::AsyncCopy::start(request.data_, to, source, from, request.wanted_,
                                             memory::WhenLost::kFail);
        if (copy) {
            request.import_ = *import;
            request.copy_ = std::move(*copy);
            request.outcome.path = protocol::Path::kCudaIpc;
            pulls_.push_back(&request);
            return true;
        }
        imports_.discard(*import);
        if (copy.status() != Status::kNotFound) {
            return false;
        }
    }
    return false;
}

void Engine::poll_pulls(int& events) {
    for (Request* request = pulls_.front(); request != nullptr;) {
        Request* following = pulls_.after(request);
        const Status status = request->copy_.poll();
        if (status != Status::kRetry) {
            ++events;
            List<Request>::remove(request);
            if (status == Status::kOk) {
                imports_.release(request->import_);
            } else {
                imports_.discard(request->import_);
            }
            request->import_ = nullptr;
            if (status == Status::kOk) {
                wire::Fin fin;
                fin.sender_request = request->remote_id_;
                fin.path = static_cast<std::uint8_t>(protocol::Path::kCudaIpc);
                control(*request->peer_, std::as_bytes(std::span(&fin, 1)));
                receive_done(*request, Status::kOk);
            } else {
                refuse(*request, protocol::Reason::kCopyFailed);
                ask_staged(*request, 0);
            }
        }
        request = following;
    }
}

}  // namespace beeline::engine
