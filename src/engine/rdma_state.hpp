// SPDX-License-Identifier: BSD-3-Clause
// What the engine keeps for messages that network cards move between registered memories.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/engine.hpp"
#include "engine/piece.hpp"
#include "engine/rdma_landings.hpp"
#include "engine/ways.hpp"
#include "mover/verbs/connection.hpp"
#include "mover/verbs/device.hpp"
#include "mover/verbs/lane.hpp"
#include "mover/verbs/ordering.hpp"
#include "mover/verbs/regions.hpp"
#include "wire/headers.hpp"

namespace beeline::engine {

#if BEELINE_HAVE_VERBS

static_assert(mover::verbs::kUsedRails == wire::kMaxRails &&
              mover::verbs::kChannels == wire::kMaxPairs);

using Clock = std::chrono::steady_clock;
using RailBits = std::uint8_t;

/// The connection to one process. Both ends have an epoch; an end that starts anew gets another
/// one, so that what belongs to the old one is recognised.
struct Engine::RdmaPeer {
    enum class State : std::uint8_t {
        kNone,
        kConnecting,
        kReady,    ///< every rail was tested or is closed; which ones can be used: usable()
        kRefused,  ///< the process has no RDMA
    };
    Engine* engine = nullptr;
    Peer* peer = nullptr;
    State state = State::kNone;
    bool peer_connected = false;       ///< the peer's end is connected to this one
    bool peer_listens = false;         ///< its test memory is known
    std::uint32_t epoch = 0;           ///< of this end; 0: there is none
    std::uint32_t peer_epoch = 0;      ///< of the end that this one is connected to; 0: none yet
    RailBits tested = 0;               ///< rails whose pattern came as it should
    unsigned sends = 0;                ///< writes to it under way
    unsigned receives = 0;             ///< messages that it was asked to write, and reads
    unsigned failures = 0;             ///< in a row, of connections
    Clock::time_point retry_at;        ///< not before this is it tried anew
    Clock::time_point repair_at;       ///< nor before this, for broken rails beside others
    Clock::time_point test_until;      ///< when a test that is still under way has failed
    unsigned tests = 0;                ///< own patterns under way
    std::byte* test_memory = nullptr;  ///< patterns from the peer, unless `landing`, and for it
    std::byte* landing = nullptr;      ///< device memory for those from the peer
    mover::verbs::Region* test_region = nullptr;
    std::uint64_t test_address = 0;  ///< at the peer
    std::array<std::uint32_t, wire::kMaxRails> test_keys{};
    /// By rail of this process: the peer's rail that it is connected to; kNoRail: none.
    std::array<std::uint8_t, wire::kMaxRails> other{};
    RailBits confirmed = 0;          ///< rails by which the other end has had the own pattern
    std::size_t message_bytes = 0;   ///< largest message that it takes
    std::uint64_t used = 0;          ///< when, in messages
    std::uint64_t used_before = 0;   ///< the same at `idle_since`
    Clock::time_point idle_since{};  ///< when that was looked at, and had changed
    std::array<std::array<mover::verbs::Share, mover::verbs::kChannels>, wire::kMaxRails>
        test_shares;
    std::array<unsigned, wire::kMaxRails> test_told{};  ///< ends of patterns that came
    mover::verbs::Connection connection;

    static constexpr std::uint8_t kNoRail = UINT8_MAX;
    /// The rail of this process that is connected to the peer's; kNoRail when none is.
    std::uint8_t own_rail(unsigned theirs) const noexcept {
        for (std::uint8_t rail = 0; rail < other.size(); ++rail) {
            if (other[rail] == theirs && connection.connected(rail)) {
                return rail;
            }
        }
        return kNoRail;
    }
    std::deque<PendingWays> waiting;  ///< receives, for the connection
};

/// The shares of one message, at the side that drives them: the sender of a write, the receiver of
/// a read.
struct Engine::RdmaMove {
    Request* request = nullptr;
    RdmaPeer* to = nullptr;
    unsigned left = 0;
    bool failed = false;
    std::uint64_t receiver_request = 0;  ///< of a write
    std::uint32_t immediate = 0;         ///< of a write
    bool read = false;
    bool relayed = false;  ///< through chunks of this process
    std::array<mover::verbs::Share, wire::kMaxRails> shares;
};

/// One chunk of such a message.
struct Engine::RdmaPart {
    enum class State : std::uint8_t {
        kFree,
        kCopying,  ///< into the chunk, to be written; out of it, after a read
        kMoving,   ///< the card is at it
        kMoved,
    };
    State state = State::kFree;
    Piece piece;
    mover::verbs::Share share;
};

/// A move by way of pinned chunks of this process.
struct Engine::RdmaRelay {
    RdmaMove* move = nullptr;
    RailBits rails = 0;
    unsigned rail = 0;  ///< of the last part
    bool telling = false;
    std::uint64_t remote = 0;
    std::array<std::uint32_t, wire::kMaxRails> keys{};
    std::size_t bytes = 0;
    std::size_t started = 0;
    std::vector<RdmaPart> parts;
};

/// A receive that is being written to: what immediates name.
struct Engine::RdmaSlot {
    Request* request = nullptr;
    RdmaPeer* from = nullptr;
    RailBits missing = 0;  ///< rails that have yet to tell their end
    std::uint32_t generation = 0;
};

/// An immediate is the index of a slot and its generation.
inline constexpr unsigned kSlotBits = 20;
inline constexpr std::uint32_t kMostSlots = (1U << kSlotBits) - 1;

/// Bytes of a test pattern, one for each rail.
inline constexpr std::size_t kPatternBytes = 512;

struct Engine::RdmaState {
    ~RdmaState();
    const mover::verbs::Api* api = nullptr;
    bool usable = false;
    mover::verbs::Devices devices;
    std::vector<const mover::verbs::Port*> rails;  ///< the ports in use, by rail
    mover::verbs::RailSet ports = 0;               ///< the same as a set for Regions
    std::unique_ptr<mover::verbs::Regions> regions;
    std::vector<std::unique_ptr<RdmaPeer>> peers;
    std::unique_ptr<mover::verbs::Lane> lane;  ///< closes the peers' links: gone before them
    std::unordered_map<std::uint64_t, Peer*> names;
    std::size_t named = 0;  ///< of Engine::peers_
    std::vector<RdmaSlot> slots;
    std::vector<std::uint32_t> free_slots;
    std::vector<std::unique_ptr<RdmaMove>> free_moves;
    std::vector<std::unique_ptr<RdmaRelay>> relays;
    mover::verbs::Region* relay_region = nullptr;  ///< the staging pool; null: the cards refuse
    bool relay_tried = false;
    std::vector<RdmaPeer*> changed;   ///< to be looked at after the lane's poll
    std::deque<wire::RdmaPut> early;  ///< while UCX still holds the sender's data
    Landings landings{wire::kMaxRails * kPatternBytes};
    memory::Pointer device;                      ///< some memory of the device that is used
    std::map<int, mover::verbs::Flush> flushes;  ///< by device
    std::vector<Request*> arrived;               ///< written whole, to be flushed and ended
    struct Lost {
        std::uint64_t id = 0;
        Clock::time_point limit;
    };
    std::vector<Lost> lost;         ///< requests that wait for a peer whose rails are all broken
    std::uint64_t messages = 0;     ///< a clock for RdmaPeer::used
    std::vector<RdmaMove*> failed;  ///< moves with nothing under way any more
    /// Since when a rail's port is down; not set: it is up.
    std::array<Clock::time_point, wire::kMaxRails> down_since{};
    std::size_t moves = 0;  ///< under way
    unsigned polls = 0;
    Clock::time_point ping_at{};
    bool closing = false;
    bool said_again = false;  ///< a connection was closed, and what was under way said again
    RdmaCounters counters;
};

/// A set of used rails as one of ports.
mover::verbs::RailSet ports_of(const std::vector<const mover::verbs::Port*>& rails,
                               RailBits bits) noexcept;

constexpr RailBits bit(unsigned rail) noexcept {
    return static_cast<RailBits>(1U << rail);
}

#else

struct Engine::RdmaState {};

#endif

}  // namespace beeline::engine
