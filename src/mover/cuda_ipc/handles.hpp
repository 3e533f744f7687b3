// SPDX-License-Identifier: BSD-3-Clause
// CUDA IPC handles: those we gave out and those we opened, both kept by buffer id and never trusted
// by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

#include "base/result.hpp"
#include "cuda/driver.hpp"
#include "memory/pointer.hpp"

namespace beeline::mover::cuda_ipc {

/// Exported handles of our own allocations, so that a buffer is exported once however often it is
/// sent. Bounded, least recently used first out. One caller at a time.
class ExportCache {
 public:
    explicit ExportCache(std::size_t entries) noexcept : limit_(entries) {}
    /// The handle of the allocation `memory` lies in. Another buffer id at the same address is
    /// exported anew. kDriver, after logging, when the driver refuses.
    Result<CUipcMemHandle> handle_of(const memory::Pointer& memory) noexcept;
    /// Forgets an allocation whose handle a peer could not open.
    void forget(std::uint64_t base) noexcept;

 private:
    struct Entry {
        std::uint64_t base;
        std::uint64_t buffer_id;
        CUipcMemHandle handle;
    };
    std::size_t limit_;
    std::list<Entry> entries_;  // most recently used first
};

/// A peer's allocation as we map it.
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
};

/// Opened handles. A mapping is used again only for the buffer id it was made for; one that
/// overlaps a newer allocation of the same peer is closed first. Bounded. One caller at a time.
class ImportCache {
 public:
    explicit ImportCache(std::size_t entries) noexcept : limit_(entries) {}
    ~ImportCache();
    ImportCache(const ImportCache&) = delete;
    ImportCache& operator=(const ImportCache&) = delete;

    /// The mapping of a peer's allocation in `context`, opened if need be, marked in use until
    /// release(). kDriver, after logging once, when the driver cannot open it.
    Result<Import*> acquire(const cuda::Driver& driver, CUcontext context, std::uint64_t peer,
                            std::uint64_t base, std::uint64_t bytes, std::uint64_t buffer_id,
                            const CUipcMemHandle& handle) noexcept;
    void release(Import* import) noexcept;
    /// Releases a mapping whose copy failed: closed by its last user, opened anew when next wanted.
    void discard(Import* import) noexcept;
    /// Forgets the mappings that a device reset took away. To be called when a context was lost.
    void forget_lost() noexcept;
    /// Closes everything that is not in use.
    void clear() noexcept;

    std::size_t open_handles() const noexcept { return entries_.size(); }
    std::uint64_t hits() const noexcept { return hits_; }
    std::uint64_t misses() const noexcept { return misses_; }

 private:
    using Entries = std::list<Import>;
    Entries::iterator close(Entries::iterator entry) noexcept;
    void make_room() noexcept;
    CUresult open(Import& import, const CUipcMemHandle& handle) const noexcept;

    std::size_t limit_;
    Entries entries_;  // most recently used first
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
};

}  // namespace beeline::mover::cuda_ipc
