// SPDX-License-Identifier: BSD-3-Clause
// The receiver's choice among the ways to move device memory, and the next best when one fails.
#include "engine/ways.hpp"

#include <algorithm>
#include <utility>

#include "engine/device_state.hpp"
#include "protocol/select.hpp"

namespace beeline::engine {

using protocol::Reason;

/// What the RTS, this process's parameters and memory, and earlier attempts say.
Engine::Ways Engine::ways_of(Request& request, const Arrived& arrived) noexcept {
    Ways ways;
    ways.sender_chunk = arrived.sender_chunk;
    for (const wire::Offer& offer : arrived.offers) {
        (offer.type == wire::OfferType::kBounce ? ways.bounce : ways.direct) = offer;
    }
    const auto verdict = [&](const wire::Offer& offer) {
        return offer.type == wire::OfferType::kNone ? Reason::kNotOffered
               : device_->verdicts.allows(pair_of(*request.peer_, request.where_, offer))
                   ? Reason::kDirect
                   : Reason::kRefused;
    };
    const Reason direct = verdict(ways.direct);
    const memory::Pointer& where = request.where_;
    protocol::Situation& situation = ways.situation;
    situation.bytes = request.outcome.bytes;
    situation.same_node = request.peer_->same_node;
    situation.shared_memory = request.peer_->link != nullptr;
    situation.ipc_enabled = params_.pml_cuda_ipc;
    situation.bounce = verdict(ways.bounce);
    situation.sender.on_device = true;
    situation.sender.exports = direct == Reason::kNotOffered ? direct : Reason::kDirect;
    situation.sender.contiguous = !arrived.push;
    situation.sender.maps = !arrived.put && !arrived.push   ? Reason::kNotOffered
                            : request.peer_->writes_refused ? Reason::kSenderCannotOpen
                                                            : Reason::kDirect;
    situation.receiver.on_device = where.on_device();
    situation.receiver.pinned = where.kind == memory::Kind::kPinned && where.context != nullptr;
    situation.receiver.contiguous = request.data_ != nullptr;
    situation.receiver.exports = where.ipc_capable ? Reason::kDirect : Reason::kNotExportable;
    situation.receiver.maps = direct == Reason::kRefused ? direct : Reason::kDirect;
    if (arrived.rdma.rails != 0 || arrived.rdma.relays != 0) {
        consider_rdma(request, arrived, ways);
    }
    if (!arrived.offers.empty() || arrived.put || arrived.push) {
        // What keeps from the best way.
        const Reason better =
            (arrived.push ? protocol::ipc_push : protocol::ipc_get).obstacle(situation, limits_);
        request.outcome.reason = better == Reason::kNone ? Reason::kDirect : better;
    }
    return ways;
}

/// Tells the sender once why its best offer is not taken.
void Engine::tell(Request& request, Ways& ways) {
    const wire::OfferType best = ways.direct.type != wire::OfferType::kNone   ? ways.direct.type
                                 : ways.bounce.type != wire::OfferType::kNone ? ways.bounce.type
                                 : ways.rdma.rails != 0 || ways.rdma.relays != 0
                                     ? wire::OfferType::kRdma
                                     : wire::OfferType::kNone;
    if (best == wire::OfferType::kNone || ways.told) {
        return;
    }
    ways.told = true;
    const Reason reason = request.outcome.reason;
    const bool open = reason == Reason::kDirect || reason == Reason::kNotOffered;
    refuse(request,
           !open                               ? reason
           : ways.situation.receiver.on_device ? Reason::kAsked
                                               : Reason::kReceiverHost,
           best);
}

/// Takes the cheapest way that works.
void Engine::take_way(Request& request, Ways ways) {
    protocol::Situation& situation = ways.situation;
    if (tracing_) [[unlikely]] {
        trace_offers(request, situation);
    }
    for (;;) {
        switch (protocol::choose_offer(situation, costs_, preference_)->id) {
            case protocol::Id::kIpcGet: {
                say(request, ways);
                const Status status = take_offer(request, ways.direct);
                if (status == Status::kRetry) {
                    device_->pending.push_back({&request, ways});
                }
                if (status == Status::kRetry || status == Status::kOk) {
                    return;
                }
                direct_failed(request, ways);
                continue;
            }
            case protocol::Id::kIpcPut:
            case protocol::Id::kIpcPush:
                if (ask_put(request, ways,
                            situation.sender.contiguous ? protocol::Path::kCudaIpcPut
                                                        : protocol::Path::kCudaIpcPush)) {
                    device_->pending.push_back({&request, ways});
                    return;
                }
                situation.receiver.exports = Reason::kExportFailed;
                continue;
            case protocol::Id::kBounce:
                say(request, ways);
                if (ways.direct.type != wire::OfferType::kNone) {
                    tell(request, ways);
                }
                if (take_offer(request, ways.bounce) == Status::kOk) {
                    return;
                }
                situation.bounce = Reason::kOpenFailed;
                refuse_later(request, ways, Reason::kOpenFailed, wire::OfferType::kBounce);
                continue;
            case protocol::Id::kRdmaWrite:
            case protocol::Id::kRdmaRead:
                say(request, ways);
                if (take_rdma(request, ways,
                              protocol::choose_offer(situation, costs_, preference_)->id ==
                                  protocol::Id::kRdmaRead) == Status::kOk) {
                    return;
                }
                continue;
            default:
                say(request, ways);
                if (situation.bounce == Reason::kRefused) {
                    refuse(request, Reason::kRefused, wire::OfferType::kBounce);
                }
                tell(request, ways);
                ask_staged(request, ways.sender_chunk);
                return;
        }
    }
}

/// The sender's memory could not be mapped or copied out of.
void Engine::direct_failed(Request& request, Ways& ways) {
    ways.situation.receiver.maps = Reason::kOpenFailed;
    refuse_later(request, ways, Reason::kOpenFailed, ways.direct.type);
}

/// Notes that an offer failed, for a PUT to say or a NACK: a PUT overtakes a NACK before it, since
/// shared memory has a queue for each size of message.
void Engine::refuse_later(Request& request, Ways& ways, Reason reason, wire::OfferType offer) {
    ways.told = true;
    request.outcome.reason = reason;
    for (wire::Put::Refusal& refused : ways.unsaid) {
        if (refused.offer == wire::OfferType::kNone) {
            refused = {offer, static_cast<std::uint8_t>(reason)};
            return;
        }
    }
}

/// Tells the sender by NACKs what refuse_later() has noted.
void Engine::say(Request& request, Ways& ways) {
    for (const wire::Put::Refusal& refused : std::exchange(ways.unsaid, {})) {
        if (refused.offer != wire::OfferType::kNone) {
            refuse(request, Reason{refused.reason}, refused.offer);
        }
    }
}

/// The ways of a receive that waited, which it no longer does; false when it did not.
bool Engine::resume(Request& request, Ways& ways) {
    const auto found =
        std::find_if(device_->pending.begin(), device_->pending.end(),
                     [&](const PendingWays& pending) { return pending.request == &request; });
    if (found == device_->pending.end()) {
        return false;
    }
    ways = found->ways;
    device_->pending.erase(found);
    table_.remove(request.id_);
    request.id_ = 0;
    return true;
}

}  // namespace beeline::engine
