// SPDX-License-Identifier: BSD-3-Clause
// Memory that network cards may read and write: device allocations registered once and kept by
// buffer id, and pinned host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "memory/pointer.hpp"
#include "mover/verbs/device.hpp"
#include "mover/verbs/parts.hpp"
#include "mover/verbs/refusal.hpp"
#include "mover/verbs/register.hpp"

struct ibv_mr;

namespace beeline::mover::verbs {

/// A set of rails: bit r is the port Devices::ports()[r].
using RailSet = std::uint32_t;

/// The keys of a region on one rail; both 0 where it is not registered.
struct RailKeys {
    std::uint32_t local = 0;
    std::uint32_t remote = 0;
};

/// A registered range. Addresses in work requests, local and remote, are plain device (or host)
/// addresses within it.
struct Region {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    Means means = Means::kHost;
    RailSet rails = 0;  ///< where it is registered
    std::array<RailKeys, kMaxRails> keys{};
    unsigned users = 0;  ///< acquired and not released; never deregistered while in use
    bool stale = false;  ///< to be deregistered by its last user

    bool contains(std::uint64_t address, std::uint64_t length) const noexcept {
        return address >= base && length <= bytes && address - base <= bytes - length;
    }
};

/// Bounds on what is kept registered, and how.
struct RegionLimits {
    std::size_t entries = 1024;
    std::uint64_t bytes = UINT64_MAX;
    Allowed allowed;
};

/// What happened, for the report.
struct RegionCounters {
    std::uint64_t registrations = 0;  ///< of memory, on however many rails
    std::uint64_t hits = 0;
    std::uint64_t evictions = 0;  ///< for lack of room
    std::uint64_t freed = 0;      ///< found to be gone, or another allocation's by now
    std::uint64_t refusals = 0;   ///< acquire() calls that found no way
};

/// The registrations of this process. Device memory is registered whole, at its first use, for the
/// rails asked for, and a registration is used again only for the buffer id it was made for.
/// Bounded in entries and bytes: the least recently used that nobody uses go first. Allocations
/// are looked at when they are used, and a few others whenever a new one comes, so a free is
/// noticed without hooks. One caller at a time.
class Regions {
 public:
    /// `ports` must outlive this object; rail r is ports[r].
    Regions(std::span<const std::unique_ptr<Port>> ports, const RegionLimits& limits);
    ~Regions();
    Regions(const Regions&) = delete;
    Regions& operator=(const Regions&) = delete;

    /// The region that holds the device memory [address, address + bytes), registered on at least
    /// one of `rails` (see Region::rails for which), in use until release(). `where` must be
    /// classify()'s answer for `address`, of this message. kUnsupported when there is no way for
    /// this memory, kNoMemory when there is none now; refusal() then says why, and the first of
    /// each kind is logged.
    Result<Region*> acquire(const memory::Pointer& where, std::uint64_t address,
                            std::uint64_t bytes, RailSet rails) noexcept;
    void release(Region* region) noexcept;
    /// Releases a region whose use failed (a protection error): deregistered by its last user,
    /// registered anew when next wanted.
    void discard(Region* region) noexcept;

    /// Registers host memory (pinned staging, receive slots) on all of `rails` or fails with
    /// kNoMemory or kUnsupported, logged. Not counted against the bounds. In use until remove().
    Result<Region*> add_host(void* base, std::size_t bytes, RailSet rails,
                             LogLevel level = LogLevel::kWarning) noexcept;
    void remove(Region* region) noexcept;

    /// Whether a card on one of `rails` may reach memory of this kind, as far as known: false once
    /// registrations of that GPU's memory failed for a reason that stays. No driver call after the
    /// first for a device.
    bool may_register(const memory::Pointer& where, RailSet rails) noexcept;

    /// Looks whether the next `count` entries still exist, in turn.
    void recheck(std::size_t count) noexcept;
    /// Deregisters what is not in use; the rest by its last user.
    void clear() noexcept;

    /// Why the last acquire() or add_host() failed.
    const Refusal& refusal() const noexcept { return refusal_; }
    const RegionCounters& counters() const noexcept { return counters_; }
    std::size_t entries() const noexcept { return entries_.size(); }
    std::uint64_t registered_bytes() const noexcept { return bytes_; }

 private:
    struct Entry;                     // entry.hpp
    static constexpr int kGpus = 64;  // of a process
    using Entries = std::list<std::unique_ptr<Entry>>;
    /// What a card has answered for memory of a GPU.
    struct Verdict {
        unsigned refused = 0;  // in a row
        bool worked = false;
    };
    struct Way {
        Verdict dma_buf;
        Verdict peer_memory;
    };
    enum class Gpu : std::uint8_t { kUnknown, kOffers, kDoesNot };

    Way& way(int gpu, bool is_vmm, const Port& port) noexcept;
    Allowed allowed(int gpu, bool is_vmm, const Port& port) noexcept;
    bool is_possible(const memory::Pointer& where, RailSet rails) noexcept;
    Entry* find(const memory::Pointer& where, std::uint64_t address, std::uint64_t bytes) noexcept;
    Entry* make(const memory::Pointer& where, std::uint64_t address, std::uint64_t bytes,
                RailSet rails) noexcept;
    Entry* insert(const memory::Pointer& where, Extent extent) noexcept;
    bool attempt(Entry& entry, RailSet rails) noexcept;
    void register_on(Entry& entry, RailSet rails) noexcept;
    void use_key(Entry& entry, unsigned rail) noexcept;
    bool make_room(std::size_t entries, std::uint64_t bytes) noexcept;
    bool evict_one(const Entry* spared) noexcept;
    void drop(Entry& entry) noexcept;
    void retire_overlapping(const Extent& extent) noexcept;
    void deregister(Entry& entry) noexcept;
    Status fail(const Refusal& refusal) noexcept;

    std::span<const std::unique_ptr<Port>> ports_;
    RegionLimits limits_;
    Entries entries_;                        // most recently used first
    Entries retired_;                        // stale, in use
    Entries hosts_;                          // of add_host()
    std::map<std::uint64_t, Entry*> index_;  // of entries_, by base; no two overlap
    std::uint64_t next_recheck_ = 0;         // base to go on at
    std::uint64_t bytes_ = 0;
    bool narrow_ = false;  // mappings are registered one by one: the driver takes no more at once
    std::vector<Gpu> gpus_;
    std::vector<Way> ways_;
    Refusal refusal_;
    RegionCounters counters_;
};

}  // namespace beeline::mover::verbs
