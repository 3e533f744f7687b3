// SPDX-License-Identifier: BSD-3-Clause
// The cache of other processes' memory that we have mapped.
#include "mover/cuda_ipc/handles.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <iterator>

#include "base/log.hpp"
#include "cuda/context.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

/// What the driver says of a mapping; a peer only claims it.
struct Extent {
    std::uint64_t id = 0;  ///< the mapping's own buffer id; 0: unknown
    CUdeviceptr base = 0;
    std::size_t bytes = 0;  ///< from the base; 0: unknown

    bool holds(CUdeviceptr mapped, std::uint64_t claimed) const noexcept {
        return bytes == 0 ||
               (mapped >= base && mapped - base <= bytes && claimed <= bytes - (mapped - base));
    }
};

Extent extent_of(const cuda::Driver& driver, CUdeviceptr mapped) noexcept {
    Extent extent;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void* values[] = {&extent.id, &extent.base, &extent.bytes};
    const CUresult result = driver.cuPointerGetAttributes(3, attributes, values, mapped);
    return result == CUDA_SUCCESS ? extent : Extent{};
}

std::uint64_t buffer_id_of(const cuda::Driver& driver, CUdeviceptr mapped) noexcept {
    std::uint64_t id = 0;
    const CUresult result =
        driver.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, mapped);
    return result == CUDA_SUCCESS ? id : 0;
}

/// False when a device reset took the mapping away; other memory may have its address since.
bool is_there(const Import& import) noexcept {
    return import.local_id == 0 || buffer_id_of(*import.driver, import.mapped) == import.local_id;
}

CUresult open_in(CUcontext context, const CUipcMemHandle& handle, Import& import) noexcept {
    const cuda::ContextScope scope(*import.driver, context);
    const cuda::CaptureScope captures(*import.driver);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = import.driver->cuIpcOpenMemHandle(&import.mapped, handle,
                                                   CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }
    if (result == CUDA_SUCCESS) {
        import.context = context;
        const Extent extent = extent_of(*import.driver, import.mapped);
        import.local_id = extent.id;
        if (!extent.holds(import.mapped, import.bytes)) {
            import.driver->cuIpcCloseMemHandle(import.mapped);
            result = CUDA_ERROR_INVALID_VALUE;
        }
    }
    return result;
}

/// Whether this process has used seven of eight descriptors it may have. A driver that loses one at
/// each opening must not leave the application without any. New ones get the lowest free numbers,
/// so that those from there on are in use only then; a single one may be the application's wish.
bool descriptors_run_out() noexcept {
    rlimit most{};
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur > INT_MAX) {
        return false;
    }
    const int mark = static_cast<int>(most.rlim_cur - most.rlim_cur / 8);
    const int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, mark);
    if (next < 0) {
        return errno == EMFILE;
    }
    close(next);
    return next > mark + 1;
}

}  // namespace

ImportCache::~ImportCache() {
    clear();
}

ImportCache::Entries::iterator ImportCache::erase(Entries::iterator entry) noexcept {
    auto [at, end] = index_.equal_range({entry->peer, entry->base});
    while (at != end && at->second != entry) {
        ++at;
    }
    index_.erase(at);
    mapped_bytes_ -= entry->bytes;
    return entries_.erase(entry);
}

/// In stream order, on a stream without work: nothing else waits.
void ImportCache::free_pool_memory(const Import& import) noexcept {
    if (free_context_ != import.context) {
        free_stream_ = {};
        free_context_ = nullptr;
        auto made = cuda::Stream::create(*import.driver);
        if (!made) {
            return;
        }
        free_stream_ = std::move(*made);
        free_context_ = import.context;
    }
    import.driver->cuMemFreeAsync(import.mapped, free_stream_.get());
}

ImportCache::Entries::iterator ImportCache::close(Entries::iterator entry) noexcept {
    const cuda::ContextScope scope(*entry->driver, entry->context);
    const cuda::CaptureScope captures(*entry->driver);
    if (scope.result() == CUDA_SUCCESS && is_there(*entry)) {
        // An error means that the context or the driver went away, and the mapping with it.
        switch (entry->kind) {
            case HandleKind::kVmm:
                VmmMapping::unmap(*entry->driver, entry->mapped, entry->bytes);
                break;
            case HandleKind::kPool:
                free_pool_memory(*entry);
                break;
            case HandleKind::kNone:
            case HandleKind::kLegacy:
                entry->driver->cuIpcCloseMemHandle(entry->mapped);
                break;
        }
    }
    return erase(entry);
}

/// Closes a mapping, at once or by its last user.
void ImportCache::retire(Entries::iterator entry) noexcept {
    if (entry->users > 0) {
        entry->stale = true;
    } else {
        close(entry);
    }
}

/// Makes room for so much more, as far as mappings are not in use.
void ImportCache::make_room(std::size_t entries, std::uint64_t bytes) noexcept {
    const auto over = [&] {
        return entries_.size() + entries > limit_ ||
               (mapped_bytes_ != 0 && (bytes > byte_limit_ || mapped_bytes_ > byte_limit_ - bytes));
    };
    for (auto entry = entries_.end(); entry != entries_.begin() && over();) {
        --entry;
        if (entry->users == 0) {
            entry = close(entry);
            ++evicted_;
        }
    }
}

Import* ImportCache::find(CUcontext context, std::uint64_t peer, std::uint64_t base,
                          std::uint64_t bytes, std::uint64_t buffer_id) noexcept {
    auto [at, end] = index_.equal_range({peer, base});
    for (; at != end; ++at) {
        const Entries::iterator entry = at->second;
        if (entry->buffer_id == buffer_id && entry->bytes == bytes && !entry->stale &&
            (entry->user == context || entry->context == context)) {
            entries_.splice(entries_.begin(), entries_, entry);
            ++entry->users;
            ++hits_;
            return &*entry;
        }
    }
    return nullptr;
}

/// An older allocation of the peer at these addresses: the driver may refuse the newer one while it
/// is open. The same memory seen from another context stays.
void ImportCache::close_overlapping(std::uint64_t peer, std::uint64_t base, std::uint64_t bytes,
                                    std::uint64_t buffer_id) noexcept {
    for (auto at = index_.lower_bound({peer, 0}); at != index_.end() && at->first.first == peer;) {
        const Entries::iterator entry = at->second;
        ++at;
        const bool overlaps = base < entry->base + entry->bytes && entry->base < base + bytes;
        const bool same = entry->buffer_id == buffer_id && entry->base == base && !entry->stale;
        if (overlaps && !same && entry->kind == HandleKind::kLegacy) {
            retire(entry);
        }
    }
}

Result<Import*> ImportCache::acquire(const cuda::Driver& driver, CUcontext context,
                                     std::uint64_t peer, std::uint64_t base, std::uint64_t bytes,
                                     std::uint64_t buffer_id,
                                     const CUipcMemHandle& handle) noexcept {
    if (Import* found = find(context, peer, base, bytes, buffer_id); found != nullptr) {
        return found;
    }
    if (descriptors_run_out()) {
        log_once(LogLevel::kWarning, "ipc.descriptors",
                 "seven of eight descriptors this process may have (ulimit -n) are used: no "
                 "more device memory of other processes is mapped, their messages go another way");
        last_error_ = CUDA_ERROR_OPERATING_SYSTEM;
        return Status::kDriver;
    }
    close_overlapping(peer, base, bytes, buffer_id);
    make_room(1, bytes);
    Import import;
    import.peer = peer;
    import.base = base;
    import.bytes = bytes;
    import.buffer_id = buffer_id;
    import.driver = &driver;
    import.user = context;
    last_error_ = open(import, handle);
    if (last_error_ != CUDA_SUCCESS) {
        ++misses_;
        cuda::report_failure(driver, "cuIpcOpenMemHandle", last_error_,
                             reinterpret_cast<const void*>(base),
                             "messages from this peer's memory go another way");
        return Status::kDriver;
    }
    return insert(import);
}

bool is_mapped(const cuda::Driver& driver, CUdeviceptr mapped, std::uint64_t bytes) noexcept {
    return extent_of(driver, mapped).holds(mapped, bytes);
}

Import* ImportCache::insert(Import import) noexcept {
    ++misses_;
    if (import.kind != HandleKind::kLegacy) {
        make_room(1, import.bytes);
        import.local_id = buffer_id_of(*import.driver, import.mapped);
    }
    import.users = 1;
    import.stale = import.kind == HandleKind::kPool;
    mapped_bytes_ += import.bytes;
    entries_.push_front(import);
    index_.emplace(Key{import.peer, import.base}, entries_.begin());
    return &entries_.front();
}

/// A process may open the handles of one device of a peer in one context of each of its own devices
/// only (CUDA driver API, cuIpcOpenMemHandle). The mapping serves the other contexts as well.
CUresult ImportCache::open(Import& import, const CUipcMemHandle& handle) const noexcept {
    const CUresult result = open_in(import.user, handle, import);
    if (result != CUDA_ERROR_INVALID_CONTEXT) {
        return result;
    }
    for (const Import& other : entries_) {
        if (other.peer == import.peer && other.context != import.user &&
            open_in(other.context, handle, import) == CUDA_SUCCESS) {
            return CUDA_SUCCESS;
        }
    }
    return result;
}

void ImportCache::release(Import* import) noexcept {
    --import->users;
    if (import->users > 0) {
        return;
    }
    if (import->stale) {
        auto [at, end] = index_.equal_range({import->peer, import->base});
        while (at != end && &*at->second != import) {
            ++at;
        }
        if (at != end) {
            close(at->second);
        }
        return;
    }
    if (entries_.size() > limit_ || mapped_bytes_ > byte_limit_) {
        make_room(0, 0);  // there was no room while it was in use
    }
}

void ImportCache::discard(Import* import) noexcept {
    import->stale = true;
    release(import);
}

void ImportCache::freed(std::uint64_t peer, std::uint64_t base, std::uint64_t buffer_id) noexcept {
    auto [at, end] = index_.equal_range({peer, base});
    while (at != end) {
        const Entries::iterator entry = at->second;
        ++at;
        if (entry->buffer_id == buffer_id) {
            ++told_;
            retire(entry);
        }
    }
}

void ImportCache::forget_lost() noexcept {
    free_stream_ = {};
    free_context_ = nullptr;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        if (is_there(*entry)) {
            ++entry;
        } else if (entry->users > 0) {
            entry->stale = true;
            ++entry;
        } else {
            entry = erase(entry);
        }
    }
}

void ImportCache::clear() noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        entry = entry->users == 0 ? close(entry) : std::next(entry);
    }
    if (free_context_ != nullptr && entries_.empty()) {
        free_stream_ = {};
        free_context_ = nullptr;
    }
}

}  // namespace beeline::mover::cuda_ipc
