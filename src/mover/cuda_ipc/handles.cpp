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

ImportCache::~ImportCache() {
    clear();
}

ImportCache::Entries::iterator ImportCache::close(Entries::iterator entry) noexcept {
    const cuda::ContextScope scope(*entry->driver, entry->context);
    if (scope.result() == CUDA_SUCCESS) {
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
            if (entry->context == context) {
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
    CUdeviceptr mapped = 0;
    const cuda::ContextScope scope(driver, context);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = driver.cuIpcOpenMemHandle(&mapped, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(driver, "cuIpcOpenMemHandle", result,
                             reinterpret_cast<const void*>(base),
                             "messages from this peer's memory are staged through the host");
        return Status::kDriver;
    }
    entries_.push_front({peer, base, bytes, buffer_id, &driver, context, mapped, 1, false});
    return &entries_.front();
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

void ImportCache::clear() noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        entry = entry->users == 0 ? close(entry) : std::next(entry);
    }
}

}  // namespace beeline::mover::cuda_ipc
