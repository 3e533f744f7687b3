// SPDX-License-Identifier: BSD-3-Clause
// The ways that a matched receive may still take: what the sender offers, what both sides can do.
#pragma once

#include <array>
#include <cstdint>

#include "engine/engine.hpp"
#include "wire/headers.hpp"

namespace beeline::engine {

/// Becomes fewer as ways fail. A copy is kept while the sender is asked for something.
struct Engine::Ways {
    wire::Offer direct;        ///< kIpc, kVmm or kPool; kNone when not offered
    wire::Offer bounce;        ///< the same for kBounce
    wire::RdmaOffer rdma;      ///< nothing in it: not offered
    bool rdma_waited = false;  ///< for a connection: not for another one
    unsigned rdma_failed = 0;  ///< attempts that did
    protocol::Situation situation;
    std::uint32_t sender_chunk = 0;
    bool told = false;  ///< the sender knows, or is to hear, that its best offer is not taken
    std::array<wire::Put::Refusal, 2> unsaid{};  ///< that the next message to it goes with
};

/// A matched receive that waits for the descriptors of its direct offer, or to be written to.
struct Engine::PendingWays {
    Request* request;
    Ways ways;
};

}  // namespace beeline::engine
