// SPDX-License-Identifier: BSD-3-Clause
// Parts of a staged transfer under way, and control messages that wait for room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/list.hpp"
#include "engine/engine.hpp"
#include "memory/copy.hpp"

namespace beeline::engine {

/// One chunk between a buffer and the wire.
struct Engine::Piece : ListNode<> {
    /// Where the chunk's memory comes from, and so how it is given back.
    enum class Home : std::uint8_t {
        kNone,       ///< the user's own memory
        kOwnChunk,   ///< a chunk of our shared segment: the receiver frees it once it was sent
        kPeerChunk,  ///< a chunk of a sender's segment: we free it
        kStaging,    ///< the staging pool
    };
    Engine* engine = nullptr;
    Request* request = nullptr;
    Home home = Home::kNone;
    bool by_shm = false;
    std::uint32_t sender = 0;  ///< kPeerChunk
    std::uint32_t index = 0;   ///< kOwnChunk, kPeerChunk
    std::byte* memory = nullptr;
    std::size_t offset = 0;  ///< in the message
    std::size_t length = 0;
    memory::AsyncCopy copy;
    Piece* next_free = nullptr;
};

struct Engine::Control {
    Peer* peer;
    std::vector<std::byte> message;
};

/// Rendezvous payload that waits for a staging chunk.
struct Engine::WaitingPayload {
    wire::Data data;
    mover::ucx::Payload payload;
};

}  // namespace beeline::engine
