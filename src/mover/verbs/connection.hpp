// SPDX-License-Identifier: BSD-3-Clause
// The connection to one process: queue pairs on each rail, and what is under way on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "mover/verbs/queue_pair.hpp"

namespace beeline::mover::verbs {

/// Rails that one process uses.
inline constexpr unsigned kUsedRails = 4;
/// Queue pairs of a connection on one rail: the first for messages, which nothing large delays, the
/// others for what is written and read.
inline constexpr unsigned kChannels = 5;

/// What one rail moves of a message. The caller keeps it until done; both memories as well.
struct Share {
    enum class Verb : std::uint8_t {
        kWrite,  ///< into the other end's memory
        kRead,   ///< out of it
        kSend,   ///< a message to it, see Parcel
    };
    /// Called once, from the lane's poll(), start() or close(). kIo: the rail broke; what was
    /// written is not known, and nothing more is.
    void (*done)(Share* share, Status status) = nullptr;
    void* owner = nullptr;   ///< the caller's
    void* engine = nullptr;  ///< the caller's
    Verb verb = Verb::kWrite;
    bool tells = false;  ///< a write whose end tells the other side `immediate`
    std::uint32_t immediate = 0;
    std::uint64_t local = 0;   ///< addresses and keys
    std::uint64_t remote = 0;  ///< at the other end
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t bytes = 0;

    std::uint64_t posted = 0;  // the lane's
    Share* next = nullptr;     // the lane's
};

/// A message by SEND: `length` bytes at `memory`, and behind them the share's `bytes` at `local`,
/// which the card gathers from there. Taken from the lane, and its again once done has returned.
struct Parcel : Share {
    std::byte* memory = nullptr;  ///< registered; Lane::message_bytes() of it
    std::size_t length = 0;
    bool quiet = false;  ///< nobody waits for its end, which may be told late or at close() only

    std::span<const std::byte> written() const noexcept { return {memory, length}; }
    std::uint32_t memory_key = 0;  // the lane's
    std::uint8_t rail = 0;         // the lane's
};

/// One queue pair of a rail.
struct Channel {
    struct Entry {
        Share* share = nullptr;
        bool last = false;  ///< of its share
    };

    QueuePair pair;
    std::uint32_t name = 0;      // in the lane's table
    std::vector<Entry> entries;  // ring of the work requests under way
    std::uint32_t posted = 0;    // counts them
    std::uint32_t retired = 0;   // and those that are complete
    bool untold = false;         // the card won't tell the end of the last one
    Share* first = nullptr;      // shares with something to post
    Share* last = nullptr;
};

/// One rail of a connection.
struct Link {
    enum class State : std::uint8_t {
        kNone,
        kMade,       ///< its end may be told to the peer
        kConnected,  ///< may be used
        kBroken,     ///< gone; the peer is to close its end
    };

    State state = State::kNone;
    std::array<Channel, kChannels> channels;
    unsigned count = 0;         ///< of them that exist
    unsigned turn = 0;          // the next one to write or read by
    std::uint32_t granted = 0;  ///< messages that the other end may send without word from here
    std::uint32_t credits = 0;  // of those that this end may send, what is left
    std::uint32_t allowed = 0;  // most of them
    std::uint32_t owed = 0;     // messages that came since the last word
    Parcel word;                // of credits, without anything else
    bool word_under_way = false;

    /// What the other end needs to connect to a channel.
    const PairEnd& end(unsigned channel = 0) const noexcept { return channels[channel].pair.end(); }
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
