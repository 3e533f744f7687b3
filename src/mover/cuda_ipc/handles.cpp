// SPDX-License-Identifier: BSD-3-Clause
// The two handle caches.
#include "mover/cuda_ipc/handles.hpp"

#include <iterator>

#include "cuda/context.hpp"

namespace beeline::mover::cuda_ipc {

Result<CUipcMemHandle> ExportCache::handle_of(const memory::Pointer& memory) noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->base != memory.base) {
            continue;
        }
        if (entry->buffer_id == memory.buffer_id) {
            entries_.splice(entries_.begin(), entries_, entry);
            return entry->handle;
        }
        entries_.erase(entry);  // the address was freed and allocated anew
        break;
    }
    CUipcMemHandle handle;
    const cuda::ContextScope scope(*memory.driver, memory.context);
    const cuda::CaptureScope captures(*memory.driver);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = memory.driver->cuIpcGetMemHandle(&handle, memory.base);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(*memory.driver, "cuIpcGetMemHandle", result,
                             reinterpret_cast<const void*>(memory.base),
                             "messages from this memory are staged through the host");
        return Status::kDriver;
    }
    entries_.push_front({memory.base, memory.buffer_id, handle});
    if (entries_.size() > limit_) {
        entries_.pop_back();
    }
    return handle;
}

void ExportCache::forget(std::uint64_t base) noexcept {
    entries_.remove_if([base](const Entry& entry) { return entry.base == base; });
}

namespace {

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
        import.local_id = buffer_id_of(*import.driver, import.mapped);
    }
    return result;
}

}  // namespace

ImportCache::~ImportCache() {
    clear();
}

ImportCache::Entries::iterator ImportCache::close(Entries::iterator entry) noexcept {
    const cuda::ContextScope scope(*entry->driver, entry->context);
    const cuda::CaptureScope captures(*entry->driver);
    if (scope.result() == CUDA_SUCCESS && is_there(*entry)) {
        // An error means that the context or the driver went away, and the mapping with it.
        entry->driver->cuIpcCloseMemHandle(entry->mapped);
    }
    return entries_.erase(entry);
}

void ImportCache::make_room() noexcept {
    for (auto entry = entries_.end(); entries_.size() >= limit_ && entry != entries_.begin();) {
        --entry;
        if (entry->users == 0) {
            entry = close(entry);
        }
    }
}

Result<Import*> ImportCache::acquire(const cuda::Driver& driver, CUcontext context,
                                     std::uint64_t peer, std::uint64_t base, std::uint64_t bytes,
                                     std::uint64_t buffer_id,
                                     const CUipcMemHandle& handle) noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const bool overlaps =
            entry->peer == peer && base < entry->base + entry->bytes && entry->base < base + bytes;
        if (!overlaps) {
            ++entry;
            continue;
        }
        if (entry->buffer_id == buffer_id && entry->base == base && !entry->stale) {
            if (entry->user == context || entry->context == context) {
                entries_.splice(entries_.begin(), entries_, entry);
                ++entry->users;
                ++hits_;
                return &*entry;
            }
            ++entry;  // the same memory seen from another context: both stay
            continue;
        }
        if (entry->users > 0) {
            entry->stale = true;
            ++entry;
            continue;
        }
        entry = close(entry);
    }
    ++misses_;
    make_room();
    Import import{peer, base, bytes, buffer_id, &driver, nullptr, context, 0, 0, 1, false};
    const CUresult result = open(import, handle);
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(driver, "cuIpcOpenMemHandle", result,
                             reinterpret_cast<const void*>(base),
                             "messages from this peer's memory are staged through the host");
        return Status::kDriver;
    }
    entries_.push_front(import);
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
    if (import->users > 0 || !import->stale) {
        return;
    }
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (&*entry == import) {
            close(entry);
            return;
        }
    }
}

void ImportCache::discard(Import* import) noexcept {
    import->stale = true;
    release(import);
}

void ImportCache::forget_lost() noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        if (is_there(*entry)) {
            ++entry;
        } else if (entry->users > 0) {
            entry->stale = true;
            ++entry;
        } else {
            entry = entries_.erase(entry);
        }
    }
}

void ImportCache::clear() noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        entry = entry->users == 0 ? close(entry) : std::next(entry);
    }
}

}  // namespace beeline::mover::cuda_ipc
