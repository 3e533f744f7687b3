// SPDX-License-Identifier: BSD-3-Clause
// A communicator as the engine sees it: an id, ranks, and the matching state.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/list.hpp"
#include "match/matcher.hpp"
#include "match/sequencer.hpp"
#include "mover/shm/lane.hpp"
#include "mover/ucx/lane.hpp"
#include "topo/identity.hpp"
#include "engine/address.hpp"
#include "engine/pipe.hpp"

namespace beeline::engine {

/// A process that messages go to or come from. Lives as long as the engine.
struct Peer {
    Address address;
    bool same_process = false;
    bool same_node = false;
    bool shm_tried = false;
    bool direct_failed = false;   ///< it could not map our memory: bounce buffers are offered too
    bool bounce_failed = false;   ///< nor those
    bool writes_refused = false;  ///< it has found that it cannot map our memory
    std::uint32_t bounce_slots = 0;  ///< of our device buffers, filled for it and not back yet
    bool guarded = false;            ///< on this machine, and neither may read the other's memory
    std::unique_ptr<mover::shm::Link> link;  ///< null: not by shared memory
    std::unique_ptr<Pipe> pipe;              ///< large messages to it; null: none yet
    mover::ucx::Endpoint endpoint = nullptr;
    void* rdma = nullptr;       ///< Engine::RdmaPeer; null: never connected
    bool rdma_refused = false;  ///< it has no use for RDMA offers
};

/// Finds the process behind a rank; null with the reason logged when it cannot be reached.
struct Resolver {
    Peer* (*resolve)(void* self, int rank) = nullptr;
    void* self = nullptr;
};

/// Made and destroyed by the caller's communicator hooks.
struct Communicator {
    Communicator(std::uint32_t id_, int rank_, int peers, Resolver resolver_)
        : id(id_), rank(rank_), resolver(resolver_), peers_(static_cast<std::size_t>(peers)) {}

    struct PerPeer {
        Peer* process = nullptr;
        match::Sequencer order;
    };

    int size() const noexcept { return static_cast<int>(peers_.size()); }
    bool valid(int peer) const noexcept { return peer >= 0 && peer < size(); }
    PerPeer& at(int peer) noexcept { return peers_[static_cast<std::size_t>(peer)]; }
    /// The process behind a valid rank, or null.
    Peer* process(int peer) noexcept {
        PerPeer& entry = at(peer);
        if (entry.process == nullptr) {
            entry.process = resolver.resolve(resolver.self, peer);
        }
        return entry.process;
    }

    const std::uint32_t id;
    const int rank;  ///< of this process; in an inter-communicator, in the local group
    const Resolver resolver;
    match::Matcher matcher;

 private:
    std::vector<PerPeer> peers_;
};

}  // namespace beeline::engine
