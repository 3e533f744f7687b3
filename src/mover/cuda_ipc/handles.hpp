// SPDX-License-Identifier: BSD-3-Clause
// Device memory that other processes may map, and theirs that we have mapped: both kept by buffer
// id and never trusted by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cuda/driver.hpp"
#include "cuda/stream.hpp"
#include "memory/pointer.hpp"
#include "mover/cuda_ipc/shareable.hpp"

namespace beeline::mover::cuda_ipc {

/// What we have exported, so that a buffer is exported once however often it is sent, and so that
/// the peers who may have mapped it are told when it is gone. Bounded, least recently used first
/// out. Allocations are looked at when they are sent, and a few others whenever a new one comes: a
/// free is noticed without hooks. One caller at a time.
class ExportCache {
 public:
    /// To be told to a peer: close what you have mapped of this.
    struct Notice {
        std::uint64_t peer;
        std::uint64_t base;
        std::uint64_t buffer_id;
    };

    explicit ExportCache(std::size_t entries) noexcept : limit_(entries) {}
    /// The handle of the allocation `memory` lies in, for `peer` (0: nobody is to be told when it
    /// is freed). Another buffer id at the same address is exported anew. kDriver, after logging,
    /// when the driver refuses; it is then not asked again for this allocation.
    Result<CUipcMemHandle> handle_of(const memory::Pointer& memory,
                                     std::uint64_t peer = 0) noexcept;
    /// Notes that `peer` may map the descriptors of this range.
    void note_range(const memory::Pointer& memory, const VmmRange& range,
                    std::uint64_t peer) noexcept;
    /// Forgets an allocation whose handle a peer could not open.
    void forget(std::uint64_t base) noexcept;
    /// Forgets everything, telling nobody: the peers have ended as well.
    void clear() noexcept;
    /// Looks whether the next `count` entries still exist, in turn.
    void recheck(std::size_t count) noexcept;

    /// What is to be told now; the caller takes it away.
    std::vector<Notice>& notices() noexcept { return notices_; }

    std::size_t entries() const noexcept { return entries_.size(); }
    std::uint64_t hits() const noexcept { return hits_; }
    std::uint64_t misses() const noexcept { return misses_; }
    std::uint64_t freed() const noexcept { return freed_; }  ///< found to be gone

 private:
    struct Entry {
        std::uint64_t base = 0;
        std::uint64_t buffer_id = 0;
        const cuda::Driver* driver = nullptr;
        CUipcMemHandle handle{};
        VmmRange range;        // of descriptors: not empty
        bool refused = false;  // the driver makes no handle of it
        std::vector<std::uint64_t> peers;
    };
    using Entries = std::list<Entry>;
    using Index = std::multimap<std::uint64_t, Entries::iterator>;  // by base

    Entries::iterator drop(Entries::iterator entry) noexcept;
    void insert(Entry entry) noexcept;
    static bool exists(const Entry& entry) noexcept;
    static void add_peer(Entry& entry, std::uint64_t peer) noexcept;

    std::size_t limit_;
    Entries entries_;  // most recently used first
    Index index_;
    std::uint64_t next_recheck_ = 0;  // base to go on at
    std::vector<Notice> notices_;
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
    std::uint64_t freed_ = 0;
};

/// A peer's memory as we map it.
struct Import {
    std::uint64_t peer = 0;  ///< the exporting process
    std::uint64_t base = 0;  ///< in the exporter
    std::uint64_t bytes = 0;
    std::uint64_t buffer_id = 0;
    const cuda::Driver* driver = nullptr;
    CUcontext context = nullptr;  ///< it was opened in
    CUcontext user = nullptr;     ///< it was opened for: usually the same
    CUdeviceptr mapped = 0;
    std::uint64_t local_id = 0;  ///< the mapping's own buffer id; 0: unknown
    unsigned users = 0;          ///< copies under way; never closed while in use
    bool stale = false;          ///< to be closed by its last user
    HandleKind kind = HandleKind::kLegacy;
};

/// Whether `bytes` from `mapped` on are one allocation, as far as the driver tells.
bool is_mapped(const cuda::Driver& driver, CUdeviceptr mapped, std::uint64_t bytes) noexcept;

/// Opened handles. The driver is asked whether a mapping is as large as the peer says. A mapping is
/// used again only for the buffer id it was made for; one that overlaps a newer allocation of the
/// same peer is closed first. Bounded in entries and in bytes: the least recently used that nobody
/// uses are closed. One caller at a time.
class ImportCache {
 public:
    explicit ImportCache(std::size_t entries, std::uint64_t bytes = UINT64_MAX) noexcept
        : limit_(entries), byte_limit_(bytes) {}
    ~ImportCache();
    ImportCache(const ImportCache&) = delete;
    ImportCache& operator=(const ImportCache&) = delete;

    /// The mapping of a peer's allocation in `context`, opened if need be, marked in use until
    /// release(). kDriver, after logging once, when the driver cannot open it.
    Result<Import*> acquire(const cuda::Driver& driver, CUcontext context, std::uint64_t peer,
                            std::uint64_t base, std::uint64_t bytes, std::uint64_t buffer_id,
                            const CUipcMemHandle& handle) noexcept;
    /// The mapping if it is there, marked in use.
    Import* find(CUcontext context, std::uint64_t peer, std::uint64_t base, std::uint64_t bytes,
                 std::uint64_t buffer_id) noexcept;
    /// Takes over a mapping that was made by other means (kVmm, kPool), marked in use. One of kPool
    /// is closed by its last user: its owner must not free the memory before.
    Import* insert(Import import) noexcept;
    void release(Import* import) noexcept;
    /// Releases a mapping whose copy failed: closed by its last user, opened anew when next wanted.
    void discard(Import* import) noexcept;
    /// The exporter has freed an allocation: closes its mappings, those in use after their last
    /// copy.
    void freed(std::uint64_t peer, std::uint64_t base, std::uint64_t buffer_id) noexcept;
    /// Forgets the mappings that a device reset took away. To be called when a context was lost.
    void forget_lost() noexcept;
    /// Closes everything that is not in use.
    void clear() noexcept;

    std::size_t open_handles() const noexcept { return entries_.size(); }
    std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
    std::uint64_t hits() const noexcept { return hits_; }
    std::uint64_t misses() const noexcept { return misses_; }
    std::uint64_t evicted() const noexcept { return evicted_; }  ///< for lack of room
    std::uint64_t told() const noexcept { return told_; }        ///< closed because freed
    /// The driver's answer to the last acquire() that failed.
    CUresult last_error() const noexcept { return last_error_; }

 private:
    using Entries = std::list<Import>;
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // peer, base
    using Index = std::multimap<Key, Entries::iterator>;

    Entries::iterator erase(Entries::iterator entry) noexcept;
    Entries::iterator close(Entries::iterator entry) noexcept;
    void retire(Entries::iterator entry) noexcept;
    void close_overlapping(std::uint64_t peer, std::uint64_t base, std::uint64_t bytes,
                           std::uint64_t buffer_id) noexcept;
    void make_room(std::size_t entries, std::uint64_t bytes) noexcept;
    CUresult open(Import& import, const CUipcMemHandle& handle) const noexcept;
    void free_pool_memory(const Import& import) noexcept;

    std::size_t limit_;
    std::uint64_t byte_limit_;
    std::uint64_t mapped_bytes_ = 0;
    Entries entries_;  // most recently used first
    Index index_;
    cuda::Stream free_stream_;  // that pool memory is given back on
    CUcontext free_context_ = nullptr;
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t told_ = 0;
    CUresult last_error_ = CUDA_SUCCESS;
};

}  // namespace beeline::mover::cuda_ipc
