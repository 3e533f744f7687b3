// SPDX-License-Identifier: BSD-3-Clause
// From the lanes to matching: decoding, order by sequence number, and messages that came too early.
#include <cstring>
#include <new>

#include "base/log.hpp"
#include "cuda/driver.hpp"
#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {
namespace {

// A bound on what a peer may make this process allocate for a message in fragments.
constexpr std::size_t kMaxFragmented = std::size_t{1} << 20;

}  // namespace

void Engine::malformed(std::span<const std::byte> in, const char* lane) noexcept {
    log_once(
        LogLevel::kError, lane,
        "a message of %zu bytes over %s is not one of this version of Beeline (type %u): ignored",
        in.size(), lane, in.empty() ? 0U : std::to_integer<unsigned>(in[0]));
}

void Engine::on_shm(void* self, const mover::shm::Arrival& arrival) {
    auto& engine = *static_cast<Engine*>(self);
    const std::span<const std::byte> in = arrival.message;
    switch (wire::peek(in)) {
        case wire::MessageType::kEager:
            engine.on_eager(in,
                            in.size() > sizeof(wire::Eager) ? in.subspan(sizeof(wire::Eager))
                                                            : std::span<const std::byte>{},
                            arrival.in_slot ? arrival.sender : Arrived::kNoSender,
                            protocol::Path::kShm);
            return;
        case wire::MessageType::kRts:
            engine.on_rts(in, nullptr);
            return;
        case wire::MessageType::kData: {
            wire::Data data;
            if (!wire::decode(in, data)) {
                break;
            }
            if ((data.common.flags & wire::kFragment) != 0) {
                engine.on_fragment(data, in.subspan(sizeof data), arrival.sender);
                return;
            }
            if (!engine.may_name(in, arrival.sender)) {
                if ((data.common.flags & wire::kInBlock) != 0) {
                    engine.shm_->release_block(arrival.sender, data.slot);
                } else if ((data.common.flags & wire::kOnDevice) == 0) {
                    engine.shm_->release_chunk(arrival.sender, data.slot);
                }
                return;
            }
            if ((data.common.flags & wire::kInBlock) != 0) {
                engine.on_block(data, arrival.sender);
                return;
            }
            if ((data.common.flags & wire::kOnDevice) != 0) {
                engine.on_slot_filled(data);
                return;
            }
            engine.on_data_shm(data, arrival.sender);
            return;
        }
        case wire::MessageType::kCts:
        case wire::MessageType::kFin:
        case wire::MessageType::kAck:
        case wire::MessageType::kNack:
            if (engine.may_name(in, arrival.sender)) {
                engine.on_control(in);
            }
            return;
        case wire::MessageType::kDataAck:
        case wire::MessageType::kFreed:
        case wire::MessageType::kWant:
        case wire::MessageType::kDescriptors:
        case wire::MessageType::kPut:
        case wire::MessageType::kPutDone:
            if (engine.may_name(in, arrival.sender)) {
                engine.on_device_control(in, arrival.sender);
            }
            return;
        case wire::MessageType::kRdmaConnect:
        case wire::MessageType::kRdmaRails:
        case wire::MessageType::kRdmaPut:
        case wire::MessageType::kRdmaFailed:
        case wire::MessageType::kNone:
            break;
    }
    engine.malformed(in, "shared memory");
}

bool Engine::on_ucx(void* self, std::span<const std::byte> header,
                    const mover::ucx::Payload& payload) {
    auto& engine = *static_cast<Engine*>(self);
    engine.resting_ = false;
    switch (wire::peek(header)) {
        case wire::MessageType::kEager:
            if (!payload.rendezvous) {
                engine.on_eager(header,
                                {static_cast<const std::byte*>(payload.data), payload.bytes},
                                Arrived::kNoSender, protocol::Path::kUcx);
                return false;
            }
            break;
        case wire::MessageType::kRts:
            engine.on_rts(header, payload.rendezvous ? &payload : nullptr);
            return payload.rendezvous;
        case wire::MessageType::kData: {
            wire::Data data;
            if (wire::decode(header, data) && data.length == payload.bytes) {
                return engine.on_data_ucx(data, payload);
            }
            break;
        }
        case wire::MessageType::kCts:
        case wire::MessageType::kFin:
        case wire::MessageType::kAck:
        case wire::MessageType::kNack:
            engine.on_control(header);
            return false;
        case wire::MessageType::kRdmaConnect:
        case wire::MessageType::kRdmaRails:
        case wire::MessageType::kRdmaPut:
        case wire::MessageType::kRdmaFailed:
            engine.on_rdma_control(header);
            return false;
        case wire::MessageType::kNone:
        case wire::MessageType::kDataAck:
        case wire::MessageType::kFreed:
        case wire::MessageType::kWant:
        case wire::MessageType::kDescriptors:
        case wire::MessageType::kPut:
        case wire::MessageType::kPutDone:
            break;
    }
    engine.malformed(header, "UCX");
    if (payload.rendezvous) {
        engine.ucx_->reject(payload);
    }
    return payload.rendezvous;
}

void Engine::on_eager(std::span<const std::byte> header, std::span<const std::byte> data,
                      std::uint32_t shm_sender, protocol::Path path) {
    wire::Eager eager;
    if (!wire::decode(header, eager)) {
        malformed(header, "eager");
        return;
    }
    const bool more = (eager.common.flags & wire::kMore) != 0 && shm_sender != Arrived::kNoSender;
    const bool unreadable = (eager.common.flags & wire::kUnreadable) != 0;
    if (unreadable && (more || !data.empty())) {
        malformed(header, "eager");
        return;
    }
    if (more ? eager.envelope.bytes <= data.size() || eager.envelope.bytes > kMaxFragmented
             : eager.envelope.bytes != data.size()) {
        malformed(header, "eager");
        return;
    }
    Arrived arrived;
    arrived.body = Body::kEager;
    arrived.synchronous = (eager.common.flags & wire::kSync) != 0;
    arrived.unreadable = unreadable;
    arrived.context = eager.common.context;
    arrived.envelope = eager.envelope;
    arrived.data = data;
    arrived.shm_sender = shm_sender;
    arrived.path = path;
    if (more) {
        arrived.assembly = start_assembly(arrived, shm_sender);
        if (arrived.assembly == nullptr) {
            malformed(header, "eager");
            return;
        }
    }
    arrive(arrived);
}

void Engine::on_rts(std::span<const std::byte> in, const mover::ucx::Payload* payload) {
    wire::Rts rts;
    if (!wire::decode(in, rts) || (payload != nullptr && payload->bytes != rts.envelope.bytes)) {
        malformed(in, "rendezvous");
        if (payload != nullptr) {
            ucx_->reject(*payload);
        }
        return;
    }
    Arrived arrived;
    arrived.body = payload != nullptr ? Body::kUcxRendezvous : Body::kOffers;
    arrived.synchronous = (rts.common.flags & wire::kSync) != 0;
    arrived.context = rts.common.context;
    arrived.envelope = rts.envelope;
    std::size_t device_offers = 0;
    for (std::size_t i = 0; i < rts.offer_count; ++i) {
        const wire::Offer offer = rts.offers[i];
        if (wire::is_device_offer(offer.type)) {
            rts.offers[device_offers++] = offer;
        } else if (offer.type == wire::OfferType::kStaged) {
            arrived.sender_chunk = offer.staged.chunk_bytes;
        } else if (offer.type == wire::OfferType::kPut) {
            arrived.put = true;
        } else if (offer.type == wire::OfferType::kPush) {
            arrived.push = true;
        } else if (offer.type == wire::OfferType::kShm) {
            arrived.blocks = payload == nullptr;
        } else if (offer.type == wire::OfferType::kRdma) {
            arrived.rdma = offer.rdma;
        }
    }
    if (payload == nullptr) {
        arrived.offers = std::span(rts.offers).first(device_offers);
    }
    if (payload != nullptr) {
        arrived.payload = *payload;
    }
    arrive(arrived);
}

void Engine::on_control(std::span<const std::byte> in) {
    wire::Cts cts;
    wire::Fin fin;
    wire::Ack ack;
    wire::Nack nack;
    if (wire::decode(in, cts)) {
        on_cts(cts);
    } else if (wire::decode(in, fin)) {
        Request* request = find_send(fin.sender_request, Request::Awaits::kAnswer);
        if (request != nullptr && request->pieces_ == 0) {  // else UCX holds the data
            const auto path = static_cast<protocol::Path>(fin.path);
            const bool known = path == protocol::Path::kCudaVmm || path == protocol::Path::kShm ||
                               path == protocol::Path::kCudaPool || path == protocol::Path::kRdma;
            request->outcome.reason = path == protocol::Path::kShm ? protocol::Reason::kHostMemory
                                                                   : protocol::Reason::kDirect;
            send_done(*request, known ? path : protocol::Path::kCudaIpc,
                      fin.status == 0 ? Status::kOk : Status::kIo);
        }
    } else if (wire::decode(in, ack)) {
        if (Request* request = find_send(ack.sender_request, Request::Awaits::kAck)) {
            if (request->pieces_ != 0) {
                request->cts_seen_ = true;  // UCX has not let go of the data yet
            } else {
                send_done(*request, request->outcome.path, Status::kOk);
            }
        }
    } else if (wire::decode(in, nack)) {
        if (nack.sender_request == 0 && nack.offer == wire::OfferType::kPut) {
            put_refused(nack);
        } else if (nack.sender_request == 0) {
            sender_failed(nack);
        } else if (Request* request = find_send(nack.sender_request, Request::Awaits::kAnswer)) {
            on_refusal(*request, {nack.offer, nack.reason});
        }
    } else {
        malformed(in, "control");
    }
}

/// What only processes of one node say to each other.
void Engine::on_device_control(std::span<const std::byte> in, std::uint32_t sender) {
    wire::DataAck ack;
    wire::Freed freed;
    wire::Want want;
    wire::Descriptors descriptors;
    wire::Put put;
    wire::PutDone put_done;
    if (wire::decode(in, ack)) {
        on_slot_back(ack);
    } else if (wire::decode(in, freed)) {
        on_freed(freed, sender);
    } else if (wire::decode(in, want)) {
        on_want(want);
    } else if (wire::decode(in, descriptors)) {
        on_descriptors(descriptors);
    } else if (wire::decode(in, put)) {
        on_put(put);
    } else if (wire::decode(in, put_done)) {
        on_put_done(put_done);
    } else {
        malformed(in, "control");
    }
}

void Engine::arrive(const Arrived& arrived) {
    if (Communicator* communicator = find(arrived.context); communicator != nullptr) {
        const std::int32_t source = arrived.envelope.source;
        if (aside_ && communicator->valid(source) && communicator->at(source).process == nullptr) {
            // Only the host knows who it is, and only its own threads may ask it.
            if (Message* message = keep(arrived)) {
                message->next = unresolved_;
                unresolved_ = message;
            }
            return;
        }
        accept(*communicator, arrived);
        return;
    }
    // The sender has finished creating a communicator that this process is still creating.
    keep_orphan(arrived);
}

void Engine::accept(Communicator& communicator, const Arrived& arrived) {
    if (!communicator.valid(arrived.envelope.source)) {
        log_once(LogLevel::kError, "engine.source",
                 "a message claims to come from rank %d of communicator %u, which has %d: ignored",
                 arrived.envelope.source, communicator.id, communicator.size());
        refuse_unmatched(arrived);
        return;
    }
    const std::uint32_t context = communicator.id;
    const int source = arrived.envelope.source;
    match::Sequencer& order = communicator.at(source).order;
    switch (order.accept(arrived.envelope.sequence)) {
        case match::Order::kNext:
            match(communicator, arrived);
            match_early(context, source);
            return;
        case match::Order::kEarly:
            if (Message* message = keep(arrived)) {
                message->sequence = arrived.envelope.sequence;
                if (!order.hold(message)) {
                    drop(message);
                }
            }
            return;
        case match::Order::kDuplicate:
            if (!may_come_twice()) {
                log_once(
                    LogLevel::kError, "engine.duplicate",
                    "message %u from rank %d of communicator %u came twice: the second is ignored",
                    arrived.envelope.sequence, arrived.envelope.source, communicator.id);
            }
            refuse_unmatched(arrived);
            return;
    }
}

void Engine::match(Communicator& communicator, const Arrived& arrived) {
    const wire::Envelope& envelope = arrived.envelope;
    if (match::Posted* posted = communicator.matcher.arrive(envelope.source, envelope.tag)) {
        deliver(*static_cast<Request*>(posted), arrived);
        return;
    }
    if (Message* message = keep(arrived)) {
        ++counters_.unexpected;
        message->match::Unexpected::source = envelope.source;
        message->match::Unexpected::tag = envelope.tag;
        communicator.matcher.add_unexpected(message);
    }
}

/// Matches the messages from `source` that came before their turn. To be called after a match,
/// which may have ended a receive whose request was the last to hold the communicator: it is looked
/// for each time.
void Engine::match_early(std::uint32_t context, int source) {
    for (;;) {
        Communicator* communicator = find(context);
        match::Held* held = communicator != nullptr && communicator->valid(source)
                                ? communicator->at(source).order.ready()
                                : nullptr;
        if (held == nullptr) {
            return;
        }
        match_kept(*communicator, static_cast<Message*>(held));
    }
}

void Engine::match_kept(Communicator& communicator, Message* message) {
    const wire::Envelope& envelope = message->arrived.envelope;
    if (match::Posted* posted = communicator.matcher.arrive(envelope.source, envelope.tag)) {
        deliver(*static_cast<Request*>(posted), message->arrived);
        release(*message);
        drop(message);
        return;
    }
    ++counters_.unexpected;
    message->source = envelope.source;
    message->tag = envelope.tag;
    communicator.matcher.add_unexpected(message);
}

/// Marks a kept message as taken by a receive, whatever it was.
void Engine::release(Message& message) noexcept {
    message.arrived.body = Body::kEager;
    message.arrived.assembly = nullptr;
}

Message* Engine::keep(const Arrived& arrived) {
    std::size_t room = arrived.assembly != nullptr    ? arrived.assembly->total
                       : arrived.body == Body::kEager ? arrived.data.size()
                                                      : arrived.offers.size_bytes();
    // A small message to this process is copied now, so that its send completes as eager ones do.
    Request* self = arrived.body == Body::kSelf ? arrived.sender : nullptr;
    const bool copy_self =
        self != nullptr && !self->synchronous_ &&
        self->buffer_.bytes <= (self->where_.on_device() ? limits_.device_eager : limits_.eager);
    if (copy_self) {
        room = self->buffer_.bytes;
    }
    void* memory = message_memory_.take(sizeof(Message) + room);
    if (memory == nullptr) {
        log(LogLevel::kError, "no memory to keep a message of %zu bytes from rank %d: it is lost",
            room, arrived.envelope.source);
        return nullptr;
    }
    auto* message = new (memory) Message;
    message->arrived = arrived;
    auto* data = reinterpret_cast<std::byte*>(message + 1);
    if (arrived.body == Body::kEager) {
        if (!arrived.data.empty()) {
            std::memcpy(data, arrived.data.data(), arrived.data.size());
        }
        message->arrived.data = {data, room};
        if (Assembly* assembly = arrived.assembly; assembly != nullptr) {
            assembly->into = data;
            assembly->room = room;
            assembly->message = message;
        }
        message->arrived.shm_sender = Arrived::kNoSender;
    } else if (arrived.body == Body::kUcxRendezvous && may_be_for_device() &&
               ucx_->can_reject(arrived.payload)) {
        // UCX can be refused now or never, and fetches into host memory only: say no, and ask the
        // sender again when the receive is known.
        ucx_->reject(arrived.payload);
        message->arrived.body = Body::kOffers;
        message->arrived.refused_early = true;
        message->arrived.payload = {};
    } else if (!arrived.offers.empty()) {
        std::memcpy(data, arrived.offers.data(), arrived.offers.size_bytes());
        message->arrived.offers = {reinterpret_cast<const wire::Offer*>(data),
                                   arrived.offers.size()};
    }
    if (copy_self) {
        const Status status = gather(*self, data);
        message->arrived.body = Body::kEager;
        message->arrived.unreadable = status != Status::kOk;
        message->arrived.data = {data, room};
        message->arrived.sender = nullptr;
        send_done(*self, protocol::Path::kSelf, status);
    }
    return message;
}

/// Whether a receive that is not posted yet may have its buffer on a device.
bool Engine::may_be_for_device() const noexcept {
    return cuda::Driver::find() != nullptr;
}

/// Lets go of what a message that nobody will receive still has at its sender.
void Engine::refuse_unmatched(const Arrived& arrived) {
    if (arrived.body == Body::kUcxRendezvous) {
        ucx_->reject(arrived.payload);
    }
    if (arrived.assembly != nullptr) {
        disown(arrived.assembly);
    }
}

void Engine::drop(Message* message) {
    refuse_unmatched(message->arrived);
    message->~Message();
    message_memory_.give_back(message);
}

}  // namespace beeline::engine
