// SPDX-License-Identifier: BSD-3-Clause
// The network cards of this process at work: writes and reads between registered memories, small
// messages, and their completion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "mover/verbs/connection.hpp"

struct ibv_cq;
struct ibv_mr;
struct ibv_srq;
struct ibv_wc;

namespace beeline::mover::verbs {

struct Port;

struct LaneSettings {
    PairSettings pair;
    unsigned receives =
        512;                ///< messages and ends that may come before the next poll, by each rail
    unsigned sends = 4096;  ///< work requests under way on each rail, of all connections
    std::size_t unit = std::size_t{1} << 20;  ///< bytes of one work request at most
    unsigned channels = 2;          ///< queue pairs of a connection on a rail, at least two
    std::size_t message_bytes = 0;  ///< largest message; 0: there are none
    unsigned credits = 64;          ///< messages to one process without word from it
    unsigned parcels = 128;         ///< messages under way on each rail
};

/// What happens without being asked for. Called from poll(); may start shares, must not destroy
/// connections.
struct LaneEvents {
    void* self = nullptr;
    /// The other end has written all of a share that tells.
    void (*told)(void* self, Connection& connection, unsigned rail,
                 std::uint32_t immediate) = nullptr;
    /// A message has come, which stays there during the call.
    void (*message)(void* self, Connection& connection, unsigned rail,
                    std::span<const std::byte> message) = nullptr;
    /// A link broke, for the reason in words; its shares end after this.
    void (*broken)(void* self, Connection& connection, unsigned rail, const char* why) = nullptr;
};

/// What went over one rail.
struct RailCounters {
    std::uint64_t written = 0;      ///< bytes
    std::uint64_t read = 0;         ///< bytes
    std::uint64_t shares = 0;       ///< writes and reads
    std::uint64_t messages = 0;     ///< sent
    std::uint64_t told = 0;         ///< immediates that came
    std::uint64_t connections = 0;  ///< links connected
    std::uint64_t broken = 0;       ///< of those
};

/// One completion queue and one shared receive queue for each rail, made with the first connection.
/// What has come by a link before it is closed is delivered all the same. One caller at a time.
class Lane {
 public:
    /// At most kUsedRails `rails`, which must outlive the lane.
    Lane(std::span<const Port* const> rails, const LaneSettings& settings, LaneEvents events);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    unsigned rails() const noexcept { return static_cast<unsigned>(rails_.size()); }
    const Port& port(unsigned rail) const noexcept { return *rails_[rail].port; }

    /// Makes this end of a link. Fails, logged, when the card gives nothing more.
    Status open(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept;
    /// Connects the channels of an open link to the other end's, which has `credits` for messages;
    /// channels that it has not are closed.
    Status connect(Connection& connection, unsigned rail, std::span<const PairEnd> peer,
                   unsigned credits) noexcept;
    /// Destroys a link; its shares end with kCanceled. `broken`: as the peer is to hear it.
    void close(Connection& connection, unsigned rail, bool broken) noexcept;

    /// Starts a share on a connected link, by a channel or the next one. May end it at once when
    /// the link has broken.
    void start(Connection& connection, unsigned rail, Share& share, unsigned channel = 0) noexcept;

    /// Bytes of a message at most; 0: there are none.
    std::size_t message_bytes() const noexcept { return settings_.message_bytes; }
    /// A message to be filled in and sent at once, or given back; null when as many are under way
    /// as may be.
    Parcel* take(Connection& connection, unsigned rail) noexcept;
    void give_back(Parcel& parcel) noexcept;
    /// As start().
    void send(Connection& connection, unsigned rail, Parcel& parcel) noexcept;
    /// Whether the end of anything on a connection is not known yet, of quiet messages as well.
    static bool busy(const Connection& connection) noexcept;
    /// Has the end of quiet messages told that have nothing behind them.
    void hurry(Connection& connection) noexcept;
    /// Sends a message without anything in it, unless one is under way: the other end's card
    /// answers as long as its process lives, whatever that does.
    void ping(Connection& connection, unsigned rail) noexcept;
    /// Memory that messages come into on a rail; empty before the first connection, or for good.
    std::span<std::byte> landing(unsigned rail) const noexcept;

    /// Handles what is complete; the number of events.
    unsigned poll() noexcept;
    /// Breaks the link of a queue pair that an asynchronous event names.
    void pair_failed(const void* pair, const char* why) noexcept;
    /// True when nothing is under way but quiet messages.
    bool idle() const noexcept { return under_way_ == 0 && next_ == backlog_.size(); }
    /// Queue pairs that exist.
    std::size_t links() const noexcept { return links_in_use_; }

    const RailCounters& counters(unsigned rail) const noexcept { return rails_[rail].counters; }
    /// Host memory that one more connection takes on a rail, about: rings of the card and of ours.
    std::size_t bytes_per_link() const noexcept;
    /// The same for a rail by itself.
    std::size_t bytes_per_rail() const noexcept;

 private:
    struct Rail {
        const Port* port = nullptr;
        ibv_cq* completions = nullptr;
        ibv_srq* receives = nullptr;
        std::byte* memory = nullptr;  // of messages: those to come, then the parcels'
        ibv_mr* region = nullptr;
        std::vector<Parcel> parcels;
        std::vector<Parcel*> spare;
        std::vector<std::uint32_t> taken;  // receives to be posted again
        unsigned under_way = 0;            // work requests
        unsigned links = 0;
        std::unordered_map<std::uint32_t, std::uint32_t> by_pair;  // number of a pair: its channel
        std::pair<std::uint32_t, std::uint32_t> last_pair{};       // of them, asked for last
        RailCounters counters;

        /// 0 when no channel has it.
        std::uint32_t name_of(std::uint32_t pair) noexcept {
            if (last_pair.second == 0 || last_pair.first != pair) {
                const auto found = by_pair.find(pair);
                last_pair = {pair, found != by_pair.end() ? found->second : 0};
            }
            return last_pair.second;
        }
    };
    struct Named {
        Connection* connection = nullptr;
        unsigned rail = 0;
        unsigned channel = 0;
        std::uint16_t generation = 0;
    };
    /// A completion, with what it belonged to when it was taken from its queue.
    struct Came {
        Connection* connection = nullptr;
        std::uint64_t id = 0;
        std::uint32_t name = 0;
        std::uint32_t immediate = 0;
        std::uint32_t bytes = 0;
        std::uint8_t rail = 0;
        bool receive = false;
        bool message = false;
        int status = 0;
    };

    // lane_rails.cpp
    Status start_rail(Rail& rail) noexcept;
    bool add_message_memory(Rail& rail) noexcept;
    void stop_rail(Rail& rail) noexcept;
    bool post_receives(Rail& rail, std::span<const std::uint32_t> slots) noexcept;
    void refill(Rail& rail) noexcept;
    std::size_t slot_bytes() const noexcept;
    Named* find(std::uint32_t name) noexcept;
    std::uint32_t name(Connection& connection, unsigned rail, unsigned channel);
    bool open_channel(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept;
    Share* take_down(Link& link, unsigned rail) noexcept;
    Share** take_down(Channel& channel, Rail& rail, Share** end) noexcept;

    void pump(Connection& connection, unsigned rail, unsigned channel) noexcept;
    bool post(Link& link, Channel& channel, Rail& rail, Share& share) noexcept;
    void retire(Connection& connection, unsigned rail, unsigned channel,
                std::uint32_t sequence) noexcept;
    void end(Share& share, Status status) noexcept;
    void end_all(Share* shares, Status status) noexcept;
    void fail(Connection& connection, unsigned rail, const char* why) noexcept;
    int collect(unsigned rail) noexcept;
    void handle(const Came& came) noexcept;
    void received(const Came& came) noexcept;
    void say_credits(Connection& connection, unsigned rail) noexcept;

    LaneSettings settings_;
    LaneEvents events_;
    std::vector<Rail> rails_;
    std::vector<Named> named_;
    std::vector<std::uint16_t> unnamed_;
    std::vector<Came> backlog_;  // taken from the queues
    std::size_t next_ = 0;       // of those, to be handled
    std::size_t links_in_use_ = 0;
    std::size_t under_way_ = 0;  // shares, but quiet messages
    bool starved_ = false;       // some link waits for others of its rail
};

}  // namespace beeline::mover::verbs
