// SPDX-License-Identifier: BSD-3-Clause
// What the engine keeps for device memory that goes from process to process without the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/list.hpp"
#include "engine/engine.hpp"
#include "engine/ways.hpp"
#include "memory/copy.hpp"
#include "mover/cuda_ipc/fd_passing.hpp"
#include "mover/cuda_ipc/pools.hpp"
#include "mover/cuda_ipc/ring.hpp"
#include "mover/cuda_ipc/verdicts.hpp"
#include "wire/headers.hpp"

namespace beeline::engine {

/// One slot of a bounce buffer in use, at either end.
struct Engine::BounceChunk : ListNode<> {
    Request* request = nullptr;
    mover::cuda_ipc::Ring* ring = nullptr;  ///< the sender's
    std::uint32_t slot = 0;
    std::size_t offset = 0;  ///< in the message
    std::size_t length = 0;
    memory::AsyncCopy copy;
};

struct Engine::DeviceState {
    explicit DeviceState(const config::Params& params)
        : rings(params.pml_bounce_chunk, static_cast<std::uint32_t>(params.pml_bounce_slots)) {}
    ~DeviceState() {
        while (BounceChunk* chunk = spare.front()) {
            List<BounceChunk>::remove(chunk);
            delete chunk;
        }
    }
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;
    /// One of `spare`, or a new one.
    BounceChunk* take_chunk() {
        BounceChunk* chunk = spare.front();
        if (chunk == nullptr) {
            return new BounceChunk;
        }
        List<BounceChunk>::remove(chunk);
        return chunk;
    }

    mover::cuda_ipc::Rings rings;
    mover::cuda_ipc::Verdicts verdicts;
    mover::cuda_ipc::Inbox inbox;
    mover::cuda_ipc::PoolImports pools;
    std::deque<PendingWays> pending;  ///< receives
    List<Request> sends;              ///< with more to put into slots, or with slots out
    List<BounceChunk> copying;        ///< into slots
    List<BounceChunk> to_send;        ///< filled, waiting for queue room
    List<BounceChunk> sent;           ///< until the receiver gives them back
    List<BounceChunk> receiving;      ///< out of a peer's slots
    List<BounceChunk> spare;          ///< for the next chunks
    std::uint64_t quiet_polls = 0;    ///< since the last device message was sent, weighted
};

/// The number that stands for a peer in caches.
inline std::uint64_t key_of(const Peer& peer) noexcept {
    return reinterpret_cast<std::uint64_t>(&peer);
}

/// What a bounce buffer is mapped by is a legacy handle too.
constexpr mover::cuda_ipc::HandleKind handle_of(wire::OfferType type) noexcept {
    using mover::cuda_ipc::HandleKind;
    return type == wire::OfferType::kVmm    ? HandleKind::kVmm
           : type == wire::OfferType::kPool ? HandleKind::kPool
                                            : HandleKind::kLegacy;
}

/// The way from what a peer offers to `to`, as verdicts know it.
inline mover::cuda_ipc::Pair pair_of(const Peer& peer, const memory::Pointer& to,
                                     const wire::Offer& offer) noexcept {
    return {key_of(peer), offer.ipc.device_uuid, to.device, handle_of(offer.type)};
}

}  // namespace beeline::engine
