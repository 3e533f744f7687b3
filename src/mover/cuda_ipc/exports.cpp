// SPDX-License-Identifier: BSD-3-Clause
// The cache of what we have exported.
#include <algorithm>
#include <iterator>

#include "cuda/context.hpp"
#include "mover/cuda_ipc/handles.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

constexpr std::size_t kRechecks = 4;  // entries looked at for each new one

}  // namespace

bool ExportCache::exists(const Entry& entry) noexcept {
    if (!entry.range.parts.empty()) {
        return current_id(*entry.driver, entry.range) == entry.buffer_id;
    }
    std::uint64_t id = 0;
    return entry.driver->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, entry.base) ==
               CUDA_SUCCESS &&
           id == entry.buffer_id;
}

void ExportCache::add_peer(Entry& entry, std::uint64_t peer) noexcept {
    if (peer != 0 && std::find(entry.peers.begin(), entry.peers.end(), peer) == entry.peers.end()) {
        entry.peers.push_back(peer);
    }
}

/// Its peers are told whatever the reason: what we do not watch any more they must not keep.
ExportCache::Entries::iterator ExportCache::drop(Entries::iterator entry) noexcept {
    for (const std::uint64_t peer : entry->peers) {
        notices_.push_back({peer, entry->base, entry->buffer_id});
    }
    auto [at, end] = index_.equal_range(entry->base);
    while (at != end && at->second != entry) {
        ++at;
    }
    index_.erase(at);
    return entries_.erase(entry);
}

void ExportCache::insert(Entry entry) noexcept {
    ++misses_;
    recheck(kRechecks);
    while (entries_.size() >= limit_) {
        drop(std::prev(entries_.end()));
    }
    const std::uint64_t base = entry.base;
    entries_.push_front(std::move(entry));
    index_.emplace(base, entries_.begin());
}

Result<CUipcMemHandle> ExportCache::handle_of(const memory::Pointer& memory,
                                              std::uint64_t peer) noexcept {
    auto [at, end] = index_.equal_range(memory.base);
    while (at != end) {
        const Entries::iterator entry = at->second;
        ++at;
        if (entry->buffer_id == memory.buffer_id && entry->refused) {
            ++hits_;
            return Status::kDriver;
        }
        if (entry->buffer_id == memory.buffer_id && entry->range.parts.empty()) {
            entries_.splice(entries_.begin(), entries_, entry);
            add_peer(*entry, peer);
            ++hits_;
            return entry->handle;
        }
        drop(entry);  // the address was freed and allocated anew
        ++freed_;
    }
    Entry made;
    made.base = memory.base;
    made.buffer_id = memory.buffer_id;
    made.driver = memory.driver;
    const cuda::ContextScope scope(*memory.driver, memory.context);
    const cuda::CaptureScope captures(*memory.driver);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = memory.driver->cuIpcGetMemHandle(&made.handle, memory.base);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(*memory.driver, "cuIpcGetMemHandle", result,
                             reinterpret_cast<const void*>(memory.base),
                             "messages of this memory go another way");
        made.refused = result != CUDA_ERROR_OUT_OF_MEMORY;
        if (made.refused) {
            insert(std::move(made));
        }
        return Status::kDriver;
    }
    add_peer(made, peer);
    const CUipcMemHandle handle = made.handle;
    insert(std::move(made));
    return handle;
}

void ExportCache::note_range(const memory::Pointer& memory, const VmmRange& range,
                             std::uint64_t peer) noexcept {
    auto [at, end] = index_.equal_range(range.base);
    while (at != end) {
        const Entries::iterator entry = at->second;
        ++at;
        if (entry->buffer_id == range.id && entry->range.bytes == range.bytes) {
            entries_.splice(entries_.begin(), entries_, entry);
            add_peer(*entry, peer);
            ++hits_;
            return;
        }
        if (!exists(*entry)) {  // ranges of other lengths can start here as well
            drop(entry);
            ++freed_;
        }
    }
    Entry made;
    made.base = range.base;
    made.buffer_id = range.id;
    made.driver = memory.driver;
    made.range = range;
    add_peer(made, peer);
    insert(std::move(made));
}

void ExportCache::forget(std::uint64_t base) noexcept {
    for (auto at = index_.find(base); at != index_.end(); at = index_.find(base)) {
        drop(at->second);
    }
}

void ExportCache::clear() noexcept {
    index_.clear();
    entries_.clear();
    notices_.clear();
}

void ExportCache::recheck(std::size_t count) noexcept {
    for (count = std::min(count, entries_.size()); count > 0 && !index_.empty(); --count) {
        auto at = index_.upper_bound(next_recheck_);
        if (at == index_.end()) {
            at = index_.begin();
        }
        next_recheck_ = at->first;
        if (!exists(*at->second)) {
            drop(at->second);
            ++freed_;
        }
    }
}

}  // namespace beeline::mover::cuda_ipc
