// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by mapping: the receiver maps the sender's memory and copies out of it.
#include <cstring>

#include "base/log.hpp"
#include "cuda/context.hpp"
#include "engine/device_state.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::cuda_ipc::HandleKind;
using mover::cuda_ipc::Import;

namespace {

constexpr protocol::Path way_of(wire::OfferType type) noexcept {
    return type == wire::OfferType::kVmm    ? protocol::Path::kCudaVmm
           : type == wire::OfferType::kPool ? protocol::Path::kCudaPool
                                            : protocol::Path::kCudaIpc;
}

}  // namespace

/// kRetry when descriptors have been asked for.
Status Engine::take_offer(Request& request, const wire::Offer& offer) {
    // The first copy after a device reset finds it out; the second has a new mapping.
    Status status = Status::kNotFound;
    for (int attempt = 0; attempt < 2 && status == Status::kNotFound; ++attempt) {
        if (const unsigned lost = memory::contexts_lost(); lost != contexts_lost_) {
            contexts_lost_ = lost;
            imports_.forget_lost();
        }
        Import* import = nullptr;
        status = map(request, offer, import);
        if (status != Status::kOk) {
            return status;
        }
        if (offer.type == wire::OfferType::kBounce) {
            receive_bounced(request, offer.ipc, import);
            return Status::kOk;
        }
        status = start_pull(request, offer, import);
    }
    return status == Status::kOk ? Status::kOk : Status::kDriver;
}

/// The mapping of what is offered, in use; kRetry when its descriptors have been asked for.
Status Engine::map(Request& request, const wire::Offer& offer, Import*& import) {
    const memory::Pointer& to = request.where_;
    const std::uint64_t peer = key_of(*request.peer_);
    const wire::IpcOffer& ipc = offer.ipc;
    switch (offer.type) {
        case wire::OfferType::kVmm:
            import = imports_.find(to.context, peer, ipc.base, ipc.allocation_bytes, ipc.buffer_id);
            return import != nullptr ? Status::kOk : want(request, offer);
        case wire::OfferType::kPool:
            if (device_->pools.knows(peer, ipc.detail) &&
                map_pool_memory(request, offer, import) == Status::kOk) {
                return Status::kOk;
            }
            return want(request, offer);  // also when another pool has the name since
        default:
            break;
    }
    CUipcMemHandle handle;
    static_assert(sizeof handle == sizeof ipc.handle);
    std::memcpy(&handle, ipc.handle.data(), sizeof handle);
    auto opened = imports_.acquire(*to.driver, to.context, peer, ipc.base, ipc.allocation_bytes,
                                   ipc.buffer_id, handle);
    const auto pair = pair_of(*request.peer_, to, offer);
    if (!opened) {
        device_->verdicts.failed(pair, "cuIpcOpenMemHandle", imports_.last_error());
        return Status::kDriver;
    }
    if ((*opened)->users == 1) {
        device_->verdicts.succeeded(pair);
    }
    import = *opened;
    return Status::kOk;
}

Status Engine::start_pull(Request& request, const wire::Offer& offer, Import* import) {
    memory::Pointer from = request.where_;
    from.kind = memory::Kind::kDevice;
    // Data that is not at the start of what was mapped: only its offset travels.
    const auto* source = reinterpret_cast<const void*>(import->mapped + offer.ipc.offset);
    auto copy = copy_in(request, 0, request.wanted_, source, from, memory::Packing::kPinned,
                        memory::WhenLost::kFail);
    if (!copy) {
        imports_.discard(import);
        return copy.status();
    }
    request.import_ = import;
    request.copy_ = std::move(*copy);
    request.outcome.path = way_of(offer.type);
    pulls_.push_back(&request);
    return Status::kOk;
}

/// Opens an allocation of a pool that we know.
Status Engine::map_pool_memory(Request& request, const wire::Offer& offer, Import*& import) {
    const memory::Pointer& to = request.where_;
    const wire::IpcOffer& ipc = offer.ipc;
    CUmemPoolPtrExportData name;
    std::memcpy(&name, ipc.handle.data(), sizeof name);
    CUdeviceptr address = 0;
    const cuda::ContextScope scope(*to.driver, to.context);
    const cuda::CaptureScope captures(*to.driver);
    const CUresult result = device_->pools.open(key_of(*request.peer_), ipc.detail, name, address);
    if (result != CUDA_SUCCESS) {
        device_->pools.forget(key_of(*request.peer_), ipc.detail);
        last_pool_error_ = result;
        return Status::kDriver;
    }
    Import made;
    made.peer = key_of(*request.peer_);
    made.base = ipc.base;
    made.bytes = ipc.allocation_bytes;
    made.buffer_id = ipc.buffer_id;
    made.driver = to.driver;
    made.context = made.user = to.context;
    made.mapped = address;
    made.kind = HandleKind::kPool;
    import = imports_.insert(made);
    if (!mover::cuda_ipc::is_mapped(*to.driver, address, ipc.allocation_bytes)) {
        last_pool_error_ = CUDA_ERROR_INVALID_VALUE;
        imports_.discard(std::exchange(import, nullptr));
        return Status::kDriver;
    }
    return Status::kOk;
}

/// Asks for the descriptors behind an offer.
Status Engine::want(Request& request, const wire::Offer& offer) {
    auto socket = device_->inbox.name();
    if (!socket) {
        device_->verdicts.failed(pair_of(*request.peer_, request.where_, offer),
                                 "a socket for descriptors", CUDA_ERROR_OPERATING_SYSTEM);
        return socket.status();
    }
    request.id_ = table_.add(&request);
    wire::Want want;
    want.sender_request = request.remote_id_;
    want.receiver_request = request.id_;
    want.socket = *socket;
    want.offer = offer.type;
    control(*request.peer_, std::as_bytes(std::span(&want, 1)));
    return Status::kRetry;
}

void Engine::on_descriptors(const wire::Descriptors& answer) {
    Request* request = find_request(answer.receiver_request, Request::Kind::kReceive);
    Ways ways;
    if (request == nullptr || request->awaits_ == Request::Awaits::kPut ||
        !resume(*request, ways)) {
        return;
    }
    const wire::Offer& offer = ways.direct;
    Import* import = nullptr;
    Status status = Status::kDriver;
    const auto pair = pair_of(*request->peer_, request->where_, offer);
    if (answer.status == 0) {
        status = map_descriptors(*request, offer, answer.receiver_request, import);
    } else {
        device_->verdicts.failed(pair, "the sender's export", CUDA_ERROR_NOT_SUPPORTED);
    }
    if (status == Status::kOk) {
        device_->verdicts.succeeded(pair);
        status = start_pull(*request, offer, import);
    }
    if (status != Status::kOk) {
        direct_failed(*request, ways);
        take_way(*request, ways);
    }
}

/// Takes the descriptors out of the socket and maps what they stand for.
Status Engine::map_descriptors(Request& request, const wire::Offer& offer, std::uint64_t token,
                               Import*& import) {
    using namespace mover::cuda_ipc;
    const memory::Pointer& to = request.where_;
    const cuda::ContextScope scope(*to.driver, to.context);
    const cuda::CaptureScope captures(*to.driver);
    const std::int64_t pid = request.peer_->address.shm.pid;
    const wire::IpcOffer& ipc = offer.ipc;
    const std::uint64_t peer = key_of(*request.peer_);
    const auto refused = [&](const char* step, CUresult result) {
        device_->verdicts.failed(pair_of(*request.peer_, to, offer), step, result);
        cuda::report_failure(*to.driver, step, result, reinterpret_cast<const void*>(ipc.base),
                             "messages from this peer's memory go another way");
        return Status::kDriver;
    };
    if (offer.type == wire::OfferType::kPool) {
        CUresult result = CUDA_ERROR_OPERATING_SYSTEM;
        device_->inbox.receive(pid, token, [&](const Parcel& parcel) {
            result = device_->pools.add(*to.driver, peer, ipc.detail, parcel.descriptor, to.device);
            return result == CUDA_SUCCESS;
        });
        if (result != CUDA_SUCCESS) {
            return refused("cuMemPoolImportFromShareableHandle", result);
        }
        return map_pool_memory(request, offer, import) == Status::kOk
                   ? Status::kOk
                   : refused("cuMemPoolImportPointer", last_pool_error_);
    }
    import = imports_.find(to.context, peer, ipc.base, ipc.allocation_bytes, ipc.buffer_id);
    VmmMapping mapping(*to.driver);
    const bool wanted = import == nullptr && mapping.reserve(ipc.allocation_bytes);
    std::size_t parts = 0;
    const Status received = device_->inbox.receive(pid, token, [&](const Parcel& parcel) {
        return !wanted || (++parts <= ipc.detail && mapping.add(parcel.descriptor, parcel.value));
    });
    if (import != nullptr) {
        return Status::kOk;  // another message has fetched it meanwhile
    }
    const CUdeviceptr mapped = received == Status::kOk && wanted ? mapping.finish(to.device) : 0;
    if (mapped == 0) {
        return refused("mapping cuMemCreate memory", mapping.result() != CUDA_SUCCESS
                                                         ? mapping.result()
                                                         : CUDA_ERROR_OPERATING_SYSTEM);
    }
    Import made;
    made.peer = peer;
    made.base = ipc.base;
    made.bytes = ipc.allocation_bytes;
    made.buffer_id = ipc.buffer_id;
    made.driver = to.driver;
    made.context = made.user = to.context;
    made.mapped = mapped;
    made.kind = HandleKind::kVmm;
    import = imports_.insert(made);
    return Status::kOk;
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
                fin.path = static_cast<std::uint8_t>(request->outcome.path);
                control(*request->peer_, std::as_bytes(std::span(&fin, 1)));
                receive_done(*request, Status::kOk);
            } else {
                refuse(*request, protocol::Reason::kCopyFailed, wire::OfferType::kIpc);
                ask_staged(*request, 0);
            }
        }
        request = following;
    }
}

const mover::cuda_ipc::Verdicts& Engine::verdicts() const noexcept {
    return device_->verdicts;
}

}  // namespace beeline::engine
