// SPDX-License-Identifier: BSD-3-Clause
// The cache of registrations.
#include "mover/verbs/regions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/driver.hpp"
#include "mover/verbs/entry.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr std::size_t kRechecks = 4;  // entries looked at for each new one

}  // namespace

Regions::Regions(std::span<const std::unique_ptr<Port>> ports, const RegionLimits& limits)
    : ports_(ports.first(std::min<std::size_t>(ports.size(), kMaxRails))),
      limits_(limits),
      gpus_(kGpus, Gpu::kUnknown),
      ways_(std::size_t{2} * kGpus * kMaxRails) {}

Regions::~Regions() {
    for (Entries* list : {&entries_, &retired_, &hosts_}) {
        for (auto& entry : *list) {
            deregister(*entry);
        }
    }
}

Status Regions::fail(const Refusal& refusal) noexcept {
    refusal_ = refusal;
    ++counters_.refusals;
    return may_pass(refusal.missing) ? Status::kNoMemory : Status::kUnsupported;
}

Result<Region*> Regions::acquire(const memory::Pointer& where, std::uint64_t address,
                                 std::uint64_t bytes, RailSet rails) noexcept {
    if (where.kind == memory::Kind::kManaged) {
        return fail({Missing::kKind, 0, Means::kPeerMemory});
    }
    if (where.kind != memory::Kind::kDevice || bytes == 0 || address + bytes < address) {
        return Status::kInvalid;
    }
    if (!is_possible(where, rails)) {
        return fail(refusal_);
    }
    Entry* entry = find(where, address, bytes);
    if (entry != nullptr) {
        entries_.splice(entries_.begin(), entries_, entry->self);
        const bool is_complete = (rails & ~entry->asked) == 0;
        if (entry->rails == 0 && entry->retry_in > 0 && --entry->retry_in == 0) {
            entry->asked = 0;
        }
        if ((rails & ~entry->asked) != 0 && attempt(*entry, rails & ~entry->asked)) {
            ++counters_.registrations;
        } else if (is_complete && (entry->rails & rails) != 0) {
            ++counters_.hits;
        }
    } else {
        entry = make(where, address, bytes, rails);
    }
    if (entry == nullptr) {
        return fail(refusal_);
    }
    if ((entry->rails & rails) == 0) {
        return fail(entry->refusal);
    }
    ++entry->users;
    return static_cast<Region*>(entry);
}

/// The entry that holds the message, if it still is the memory that was registered.
Regions::Entry* Regions::find(const memory::Pointer& where, std::uint64_t address,
                              std::uint64_t bytes) noexcept {
    auto at = index_.upper_bound(address);
    if (at == index_.begin() || !(--at)->second->contains(address, 1)) {
        return nullptr;
    }
    Entry& entry = *at->second;
    const std::vector<Part>& parts = entry.extent.parts;
    auto part = std::upper_bound(
        parts.begin(), parts.end(), address,
        [](std::uint64_t wanted, const Part& candidate) { return wanted < candidate.base; });
    --part;
    bool is_current = part->id == where.buffer_id && entry.where.driver == where.driver;
    for (++part; is_current && part != parts.end() && part->base < address + bytes; ++part) {
        is_current = still_there(*where.driver, *part);
    }
    if (!is_current) {
        drop(entry);
        ++counters_.freed;
        return nullptr;
    }
    return entry.contains(address, bytes) ? &entry : nullptr;
}

/// Registers memory that is not known yet. Null when nothing could be noted; an entry without
/// rails when it was refused.
Regions::Entry* Regions::make(const memory::Pointer& where, std::uint64_t address,
                              std::uint64_t bytes, RailSet rails) noexcept {
    recheck(kRechecks);
    Extent extent = extent_of(where, address, bytes, limits_.bytes);
    if (extent.parts.empty()) {
        refusal_ = {Missing::kDriver, 0, Means::kDmaBuf};
        return nullptr;
    }
    if (narrow_) {
        extent = narrowed(extent, address, bytes);
    }
    Entry* entry = insert(where, extent);
    if (entry == nullptr) {
        return nullptr;
    }
    if (attempt(*entry, rails)) {
        ++counters_.registrations;
        return entry;
    }
    const Extent narrow = narrowed(extent, address, bytes);
    if (narrow.parts.size() == extent.parts.size() || !extent.is_capable) {
        return entry;
    }
    drop(*entry);
    entry = insert(where, narrow);
    if (entry != nullptr && attempt(*entry, rails)) {
        narrow_ = true;
        ++counters_.registrations;
    }
    return entry;
}

Regions::Entry* Regions::insert(const memory::Pointer& where, Extent extent) noexcept {
    retire_overlapping(extent);
    if (!make_room(1, 0)) {
        refusal_ = {Missing::kBounds, 0, Means::kDmaBuf};
        return nullptr;
    }
    entries_.push_front(std::make_unique<Entry>());
    Entry& entry = *entries_.front();
    entry.base = extent.base();
    entry.bytes = extent.bytes();
    entry.where = where;
    entry.extent = std::move(extent);
    entry.self = entries_.begin();
    index_[entry.base] = &entry;
    return &entry;
}

bool Regions::evict_one(const Entry* spared) noexcept {
    for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) {
        if ((*at)->users == 0 && at->get() != spared) {
            drop(**at);
            ++counters_.evictions;
            return true;
        }
    }
    return false;
}

bool Regions::make_room(std::size_t entries, std::uint64_t bytes) noexcept {
    const Entry* newest = entries_.empty() ? nullptr : entries_.front().get();
    if (bytes > limits_.bytes) {
        return false;
    }
    while (entries_.size() + entries > limits_.entries || bytes_ > limits_.bytes - bytes) {
        if (!evict_one(entries == 0 ? newest : nullptr)) {
            return false;
        }
    }
    return true;
}

/// Takes an entry out of the cache: gone now, or after its last user.
void Regions::drop(Entry& entry) noexcept {
    index_.erase(entry.base);
    if (entry.users != 0) {
        entry.stale = true;
        retired_.splice(retired_.begin(), entries_, entry.self);
        return;
    }
    deregister(entry);
    entries_.erase(entry.self);
}

void Regions::retire_overlapping(const Extent& extent) noexcept {
    auto at = index_.lower_bound(extent.base());
    if (at != index_.begin() && std::prev(at)->second->contains(extent.base(), 1)) {
        --at;
    }
    while (at != index_.end() && at->first < extent.base() + extent.bytes()) {
        Entry& entry = *at->second;
        ++at;
        drop(entry);  // smaller, since the memory has grown, or freed
        ++counters_.freed;
    }
}

void Regions::release(Region* region) noexcept {
    Entry& entry = static_cast<Entry&>(*region);
    if (--entry.users == 0 && entry.stale) {
        deregister(entry);
        retired_.erase(entry.self);
    }
}

void Regions::discard(Region* region) noexcept {
    Entry& entry = static_cast<Entry&>(*region);
    if (!entry.stale) {
        drop(entry);
    }
    release(region);
}

void Regions::recheck(std::size_t count) noexcept {
    for (count = std::min(count, index_.size()); count > 0 && !index_.empty(); --count) {
        auto at = index_.upper_bound(next_recheck_);
        if (at == index_.end()) {
            at = index_.begin();
        }
        next_recheck_ = at->first;
        Entry& entry = *at->second;
        const std::vector<Part>& parts = entry.extent.parts;
        if (!std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
                return still_there(*entry.where.driver, part);
            })) {
            drop(entry);
            ++counters_.freed;
        }
    }
}

void Regions::clear() noexcept {
    while (!index_.empty()) {
        drop(*index_.begin()->second);
    }
}

}  // namespace beeline::mover::verbs
