// SPDX-License-Identifier: BSD-3-Clause
// The sender's offers of device memory, and the descriptors behind them.
#include <cstring>

#include "base/log.hpp"
#include "cuda/context.hpp"
#include "engine/device_state.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::cuda_ipc::HandleKind;

namespace {

// A recheck of what is exported comes after this many polls without a device message; those while a
// rendezvous is under way weigh less.
constexpr std::uint64_t kQuietPolls = std::uint64_t{1} << 21;
constexpr std::uint64_t kQuietPoll = 64;
constexpr std::uint64_t kBusyPoll = 1;

void describe(wire::Offer& offer, wire::OfferType type, std::uint64_t base, std::uint64_t data,
              std::uint64_t bytes, std::uint64_t id) noexcept {
    offer.type = type;
    offer.ipc.base = base;
    offer.ipc.offset = data - base;
    offer.ipc.allocation_bytes = bytes;
    offer.ipc.buffer_id = id;
}

}  // namespace

/// Adds what the receiver could map, best first; the outcome's reason says what became of it.
void Engine::device_offers(Request& request, wire::Rts& rts) {
    if (!request.where_.on_device()) {
        request.outcome.reason = request.peer_->guarded ? protocol::Reason::kNoSharedMemory
                                                        : protocol::Reason::kHostMemory;
        return;
    }
    protocol::IpcFacts facts;
    facts.enabled = params_.pml_cuda_ipc;
    facts.same_node = request.peer_->same_node;
    facts.shared_memory = request.peer_->link != nullptr;
    facts.exportable = true;
    request.outcome.reason = protocol::ipc_offer(facts);
    if (request.data_ == nullptr) {
        offer_packing(request, rts);
        return;
    }
    if (request.outcome.reason != protocol::Reason::kDirect) {
        if (!facts.shared_memory && offer_rdma(request, rts)) {
            request.outcome.reason = protocol::Reason::kDirect;
        }
        return;
    }
    using protocol::Preference;
    device_->quiet_polls = 0;
    request.put_offered_ = request.where_.context != nullptr &&
                           preference_ != Preference::kIpcGet &&
                           preference_ != Preference::kBounce && preference_ != Preference::kStaged;
    if (request.put_offered_) {
        rts.offers[rts.offer_count++].type = wire::OfferType::kPut;
    }
    if (preference_ == Preference::kIpcPut || preference_ == Preference::kStaged) {
        request.outcome.reason = protocol::Reason::kAsked;
        return;
    }
    const bool direct = preference_ != Preference::kBounce && offer_direct(request, rts);
    tell_freed();
    if (direct && !request.peer_->direct_failed) {
        return;
    }
    if (offer_bounce(request, rts)) {
        request.outcome.reason = direct ? request.outcome.reason : protocol::Reason::kBounced;
    } else if (!direct) {
        request.outcome.reason = request.where_.ipc_capable ? protocol::Reason::kExportFailed
                                                            : protocol::Reason::kNotExportable;
        // Else the failure has been logged, or nobody can copy this memory.
        if (!request.where_.ipc_capable && request.where_.context != nullptr) {
            log_once(
                LogLevel::kWarning, "ipc.not_exportable",
                "%s memory at %p cannot be exported to other processes, nor copied through a "
                "buffer on its device (%s): its messages are staged through the host unless the "
                "receiver's memory can be written to",
                memory::to_string(request.where_.kind), request.buffer_.address,
                !params_.pml_cuda_bounce ? "pml_beeline_cuda_bounce is off"
                                         : bounce_refusal(request));
        }
    }
}

/// What there is for data with gaps: between nodes what RDMA can do; inside one to pack it into the
/// receiver's memory, or into a buffer on the device, which the receiver's data may have gaps for
/// too.
void Engine::offer_packing(Request& request, wire::Rts& rts) {
    using protocol::Preference;
    const bool direct = request.outcome.reason == protocol::Reason::kDirect;
    request.outcome.reason = protocol::Reason::kSenderLayout;  // until it is known to be taken
    if (request.peer_->link == nullptr && !request.peer_->same_node) {
        offer_rdma(request, rts);
        return;
    }
    if (!direct || request.where_.context == nullptr || preference_ == Preference::kStaged) {
        return;
    }
    device_->quiet_polls = 0;
    request.put_offered_ = preference_ != Preference::kBounce;
    if (request.put_offered_) {
        rts.offers[rts.offer_count++].type = wire::OfferType::kPush;
    }
    offer_bounce(request, rts);
}

const char* Engine::bounce_refusal(const Request& request) const noexcept {
    return request.peer_->bounce_failed ? "the receiver cannot map it"
                                        : request.where_.driver->name_of(device_->rings.refusal());
}

bool Engine::offer_direct(Request& request, wire::Rts& rts) {
    const memory::Pointer& where = request.where_;
    const auto data = reinterpret_cast<std::uint64_t>(request.data_);
    wire::Offer& offer = rts.offers[rts.offer_count];
    if (where.ipc_capable) {
        auto handle = exports_.handle_of(where, key_of(*request.peer_));
        if (!handle) {
            return false;
        }
        describe(offer, wire::OfferType::kIpc, where.base, data, where.size, where.buffer_id);
        std::memcpy(offer.ipc.handle.data(), &*handle, sizeof *handle);
    } else if (where.kind == memory::Kind::kDevice && params_.pml_cuda_descriptors) {
        const auto shared = mover::cuda_ipc::examine(*where.driver, data, request.buffer_.bytes);
        if (shared.kind == HandleKind::kVmm) {
            exports_.note_range(where, shared.range, key_of(*request.peer_));
            describe(offer, wire::OfferType::kVmm, shared.range.base, data, shared.range.bytes,
                     shared.range.id);
            offer.ipc.detail = shared.range.parts.size();
        } else if (shared.kind == HandleKind::kPool) {
            CUmemPoolPtrExportData name;
            static_assert(sizeof name == sizeof offer.ipc.handle);
            if (where.driver->cuMemPoolExportPointer(&name, data) != CUDA_SUCCESS) {
                return false;
            }
            describe(offer, wire::OfferType::kPool, where.base, data, where.size, where.buffer_id);
            std::memcpy(offer.ipc.handle.data(), &name, sizeof name);
            offer.ipc.detail = reinterpret_cast<std::uint64_t>(shared.pool);
        } else {
            return false;
        }
    } else {
        return false;
    }
    offer.ipc.device_uuid = mover::cuda_ipc::uuid_of(*where.driver, where.device);
    ++rts.offer_count;
    return true;
}

bool Engine::offer_bounce(Request& request, wire::Rts& rts) {
    if (!params_.pml_cuda_bounce || request.peer_->bounce_failed ||
        request.where_.context == nullptr) {
        return false;
    }
    mover::cuda_ipc::Ring* ring = device_->rings.of(request.where_);
    if (ring == nullptr) {
        return false;
    }
    request.ring_ = ring;
    wire::Offer& offer = rts.offers[rts.offer_count++];
    const memory::Pointer& memory = ring->memory;
    describe(offer, wire::OfferType::kBounce, memory.base, memory.base, memory.size,
             memory.buffer_id);
    std::memcpy(offer.ipc.handle.data(), &ring->handle, sizeof ring->handle);
    offer.ipc.detail = ring->slot_bytes;
    offer.ipc.device_uuid = mover::cuda_ipc::uuid_of(*memory.driver, memory.device);
    return true;
}

/// The receiver could not use an offer: the next messages to it are offered more, or less.
void Engine::on_refusal(Request& request, const wire::Put::Refusal& refused) {
    if (refused.reason == static_cast<std::uint8_t>(protocol::Reason::kOpenFailed) ||
        refused.reason == static_cast<std::uint8_t>(protocol::Reason::kCopyFailed)) {
        exports_.forget(request.where_.base);  // the handle may be at fault
        tell_freed();
    }
    if (refused.offer == wire::OfferType::kRdma) {
        request.peer_->rdma_refused =
            refused.reason == static_cast<std::uint8_t>(protocol::Reason::kNoRdmaDevice) ||
            refused.reason == static_cast<std::uint8_t>(protocol::Reason::kRdmaOff);
    } else if (refused.offer == wire::OfferType::kBounce) {
        request.peer_->bounce_failed =
            refused.reason == static_cast<std::uint8_t>(protocol::Reason::kRefused);
    } else if (wire::is_device_offer(refused.offer) &&
               refused.reason != static_cast<std::uint8_t>(protocol::Reason::kReceiverHost) &&
               refused.reason != static_cast<std::uint8_t>(protocol::Reason::kReceiverLayout)) {
        request.peer_->direct_failed = true;
    }
    request.outcome.reason = refused.reason < protocol::kReasons ? protocol::Reason{refused.reason}
                                                                 : protocol::Reason::kOpenFailed;
}

/// Tells the peers to close what they have mapped of memory that is gone.
void Engine::tell_freed() {
    for (const auto& notice : exports_.notices()) {
        wire::Freed freed;
        freed.base = notice.base;
        freed.buffer_id = notice.buffer_id;
        control(*reinterpret_cast<Peer*>(notice.peer), std::as_bytes(std::span(&freed, 1)));
    }
    exports_.notices().clear();
}

/// A free is noticed when a message is sent; this is for those who send no more. Who waits for a
/// rendezvous is not one of them, however long its copy takes: what a message asks of the driver
/// does not depend on how often its end was looked for.
void Engine::look_for_freed() {
    device_->quiet_polls += table_.used() == 0 ? kQuietPoll : kBusyPoll;
    if (device_->quiet_polls >= kQuietPoll * kQuietPolls) {
        device_->quiet_polls = 0;
        exports_.recheck(exports_.entries());
        tell_freed();
    }
}

void Engine::on_freed(const wire::Freed& freed, std::uint32_t sender) {
    const std::uint64_t nonce = shm_->nonce_of(sender);
    for (const auto& peer : peers_) {
        if (peer->address.shm.nonce == nonce && peer->same_node) {
            imports_.freed(key_of(*peer), freed.base, freed.buffer_id);
            return;
        }
    }
}

void Engine::on_want(const wire::Want& want) {
    Request* request = find_send(want.sender_request, Request::Awaits::kAnswer);
    if (request == nullptr) {
        return;
    }
    const Status status = request->data_ != nullptr && request->where_.on_device()
                              ? send_descriptors(*request, want)
                              : Status::kInvalid;
    if (status != Status::kOk) {
        log_once(LogLevel::kWarning, "descriptors.send",
                 "descriptors of device memory could not be sent to process %lld (%s): its "
                 "messages go another way",
                 static_cast<long long>(request->peer_->address.shm.pid), to_string(status));
    }
    wire::Descriptors answer;
    answer.receiver_request = want.receiver_request;
    answer.status = static_cast<std::uint8_t>(status);
    control(*request->peer_, std::as_bytes(std::span(&answer, 1)));
}

Status Engine::send_descriptors(const Request& request, const wire::Want& want) {
    using namespace mover::cuda_ipc;
    const cuda::Driver& driver = *request.where_.driver;
    const cuda::CaptureScope captures(driver);
    const Shareable shared =
        examine(driver, reinterpret_cast<std::uint64_t>(request.data_), request.buffer_.bytes);
    if (shared.kind !=
        (want.offer == wire::OfferType::kPool ? HandleKind::kPool : HandleKind::kVmm)) {
        return Status::kInvalid;
    }
    ParcelSender sender;
    if (const Status status = sender.connect(want.socket, request.peer_->address.shm.pid);
        status != Status::kOk) {
        return status;
    }
    if (shared.kind == HandleKind::kPool) {
        const Parcel pool{export_pool(driver, shared.pool), 0};
        return pool.descriptor >= 0 ? sender.send(want.receiver_request, 1, {&pool, 1})
                                    : Status::kDriver;
    }
    Parcel batch[kParcelsAtOnce];
    std::size_t filled = 0;
    std::uint64_t address = shared.range.base;
    Status status = Status::kOk;
    for (std::size_t i = 0; i < shared.range.parts.size() && status == Status::kOk; ++i) {
        const int descriptor = export_part(driver, address);
        status = descriptor >= 0 ? Status::kOk : Status::kDriver;
        if (status == Status::kOk) {
            batch[filled++] = {descriptor, shared.range.parts[i]};
            address += shared.range.parts[i];
        }
        // A failure sends what there is as well: the exchange is short then, and refused.
        if (filled == kParcelsAtOnce || i + 1 == shared.range.parts.size() ||
            (status != Status::kOk && filled != 0)) {
            const Status sent =
                sender.send(want.receiver_request, shared.range.parts.size(), {batch, filled});
            status = status == Status::kOk ? sent : status;
            filled = 0;
        }
    }
    return status;
}

}  // namespace beeline::engine
