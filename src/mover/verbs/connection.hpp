// SPDX-License-Identifier: BSD-3-Clause
// The connection to one process: a queue pair on each rail, and what is under way on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "mover/verbs/queue_pair.hpp"

namespace beeline::mover::verbs {

/// Rails that one process uses.
inline constexpr unsigned kUsedRails = 4;

/// What one rail moves of a message. The caller keeps it until done; both memories as well.
struct Share {
    /// Called once, from the lane's poll(), start() or close(). kIo: the rail broke; what was
    /// written is not known, and nothing more is.
    void (*done)(Share* share, Status status) = nullptr;
    void* owner = nullptr;   ///< the caller's
    void* engine = nullptr;  ///< the caller's
    bool read = false;       ///< from the other end's memory; else a write into it
    bool tells = false;      ///< a write whose end tells the other side `immediate`
    std::uint32_t immediate = 0;
    std::uint64_t local = 0;   ///< addresses and keys
    std::uint64_t remote = 0;  ///< at the other end
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t bytes = 0;

    std::uint64_t posted = 0;  // the lane's
    Share* next = nullptr;     // the lane's
};

/// One rail of a connection.
struct Link {
    enum class State : std::uint8_t {
        kNone,
        kMade,       ///< its end may be told to the peer
        kConnected,  ///< may be used
        kBroken,     ///< gone; the peer is to close its end
    };
    struct Entry {
        Share* share = nullptr;
        bool last = false;  ///< of its share
    };

    State state = State::kNone;
    QueuePair pair;
    std::uint32_t name = 0;      // in the lane's table
    std::vector<Entry> entries;  // ring of the work requests under way
    std::uint32_t posted = 0;    // counts them
    std::uint32_t retired = 0;   // and those that are complete
    Share* first = nullptr;      // shares with something to post
    Share* last = nullptr;
};

/// All rails to one process. Owned by the caller; links are the lane's to change.
struct Connection {
    void* owner = nullptr;  ///< the caller's
    std::array<Link, kUsedRails> links;

    bool connected(unsigned rail) const noexcept {
        return links[rail].state == Link::State::kConnected;
    }
};

}  // namespace beeline::mover::verbs
