// SPDX-License-Identifier: BSD-3-Clause
// The network cards of this process at work: writes and reads between registered memories, and
// their completion.
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
struct ibv_srq;
struct ibv_wc;

namespace beeline::mover::verbs {

struct Port;

struct LaneSettings {
    PairSettings pair;
    unsigned receives = 512;  ///< immediates that may come before the next poll, on each rail
    unsigned sends = 4096;    ///< work requests under way on each rail, of all connections
    std::size_t unit = std::size_t{1} << 20;  ///< bytes of one work request at most
};

/// What happens without being asked for. Called from poll(); may start shares, must not destroy
/// connections.
struct LaneEvents {
    void* self = nullptr;
    /// The other end has written all of a share that tells.
    void (*told)(void* self, Connection& connection, unsigned rail,
                 std::uint32_t immediate) = nullptr;
    /// A link broke, for the reason in words; its shares end after this.
    void (*broken)(void* self, Connection& connection, unsigned rail, const char* why) = nullptr;
};

/// What went over one rail.
struct RailCounters {
    std::uint64_t written = 0;  ///< bytes
    std::uint64_t read = 0;     ///< bytes
    std::uint64_t shares = 0;
    std::uint64_t told = 0;         ///< immediates that came
    std::uint64_t connections = 0;  ///< queue pairs connected
    std::uint64_t broken = 0;       ///< of those
};

/// One completion queue and one shared receive queue for each rail, made with the first connection.
/// One caller at a time.
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
    /// Connects an open link to the other end.
    Status connect(Connection& connection, unsigned rail, const PairEnd& peer) noexcept;
    /// Destroys a link; its shares end with kCanceled. `broken`: as the peer is to hear it.
    void close(Connection& connection, unsigned rail, bool broken) noexcept;

    /// Starts a share on a connected link. May end it at once when that has broken.
    void start(Connection& connection, unsigned rail, Share& share) noexcept;

    /// Handles what is complete; the number of events.
    unsigned poll() noexcept;
    /// Breaks the link of a queue pair that an asynchronous event names.
    void pair_failed(const void* pair, const char* why) noexcept;
    /// True when nothing is under way.
    bool idle() const noexcept { return under_way_ == 0; }
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
        unsigned taken = 0;                                        // receives to be posted again
        unsigned under_way = 0;                                    // work requests
        std::unordered_map<std::uint32_t, std::uint32_t> by_pair;  // number of a pair: its link
        RailCounters counters;
    };
    struct Named {
        Connection* connection = nullptr;
        unsigned rail = 0;
        std::uint16_t generation = 0;
    };

    Status start_rail(Rail& rail) noexcept;
    bool post_receives(Rail& rail, unsigned count) noexcept;
    void pump(Connection& connection, unsigned rail) noexcept;
    bool post(Link& link, Rail& rail, Share& share) noexcept;
    void retire(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept;
    void fail(Connection& connection, unsigned rail, const char* why) noexcept;
    Share* take_down(Link& link, Rail& rail) noexcept;
    void handle(unsigned rail, const ibv_wc& completion) noexcept;
    Named* find(std::uint32_t name) noexcept;
    std::uint32_t name(Connection& connection, unsigned rail);

    LaneSettings settings_;
    LaneEvents events_;
    std::vector<Rail> rails_;
    std::vector<Named> named_;
    std::vector<std::uint16_t> unnamed_;
    std::size_t links_in_use_ = 0;
    std::size_t under_way_ = 0;  // shares
    bool starved_ = false;       // some link waits for others of its rail
};

}  // namespace beeline::mover::verbs
