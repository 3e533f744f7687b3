// SPDX-License-Identifier: BSD-3-Clause
// The cache of registrations.
#include "mover/verbs/regions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "cuda/driver.hpp"
#include "mover/verbs/api.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr std::size_t kRechecks = 4;   // entries looked at for each new one
constexpr unsigned kRefusals = 3;      // in a row, before a means that never worked is given up
constexpr unsigned kRetryAfter = 256;  // uses, before a limit that was reached is tried again
constexpr int kGpus = 64;              // of a process
constexpr char kConsequence[] = "its messages go through host memory";

constexpr bool has(RailSet rails, unsigned rail) noexcept {
    return (rails >> rail & 1U) != 0;
}

/// Whether the verdict on a means still lets it be tried.
template <class Verdict>
bool is_open(const Verdict& verdict) noexcept {
    return verdict.worked || verdict.refused < kRefusals;
}

template <class Verdict>
void note(Verdict& verdict, Missing missing) noexcept {
    if (!may_pass(missing)) {
        ++verdict.refused;
    }
}

}  // namespace

/// A registration, or what is known of memory that was refused.
struct Regions::Entry : Region {
    memory::Pointer where;
    Extent extent;
    RailSet asked = 0;                         // rails it was tried on
    std::array<ibv_mr*, kMaxRails> handles{};  // by Port::device
    Refusal refusal;                           // where it is registered nowhere
    unsigned retry_in = 0;                     // uses
    Entries::iterator self;
};

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

Regions::Way& Regions::way(int gpu, bool is_vmm, const Port& port) noexcept {
    const auto row = static_cast<std::size_t>(gpu) * 2 + (is_vmm ? 1 : 0);
    return ways_[row * kMaxRails + port.device];
}

Allowed Regions::allowed(int gpu, bool is_vmm, const Port& port) noexcept {
    const Way& known = way(gpu, is_vmm, port);
    Allowed now = limits_.allowed;
    now.dma_buf = now.dma_buf && is_open(known.dma_buf);
    now.peer_memory = now.peer_memory && is_open(known.peer_memory);
    return now;
}

Status Regions::fail(const Refusal& refusal) noexcept {
    refusal_ = refusal;
    ++counters_.refusals;
    return may_pass(refusal.missing) ? Status::kNoMemory : Status::kUnsupported;
}

bool Regions::may_register(const memory::Pointer& where, RailSet rails) noexcept {
    return where.kind == memory::Kind::kDevice && is_possible(where, rails);
}

bool Regions::is_possible(const memory::Pointer& where, RailSet rails) noexcept {
    if (where.device < 0 || where.device >= kGpus || where.context == nullptr) {
        refusal_ = {Missing::kDriver, 0, Means::kDmaBuf};
        return false;
    }
    Gpu& gpu = gpus_[static_cast<std::size_t>(where.device)];
    if (gpu == Gpu::kUnknown) {
        gpu = gpu_offers_rdma(where) ? Gpu::kOffers : Gpu::kDoesNot;
        if (gpu == Gpu::kDoesNot) {
            report_refusal({Missing::kGpuSupport, 0, Means::kDmaBuf},
                           ports_.empty() ? "the network" : ports_[0]->name.c_str(), kConsequence);
        }
    }
    if (gpu == Gpu::kDoesNot) {
        refusal_ = {Missing::kGpuSupport, 0, Means::kDmaBuf};
        return false;
    }
    for (const auto& port : ports_) {
        // What has a legacy handle is no mapping; of the rest it is not known without asking.
        for (const bool is_vmm : {false, true}) {
            const Allowed now = allowed(where.device, is_vmm, *port);
            if (has(rails, port->rail) && (now.dma_buf || now.peer_memory) &&
                !(is_vmm && where.ipc_capable)) {
                return true;
            }
        }
    }
    const bool is_off = !limits_.allowed.dma_buf && !limits_.allowed.peer_memory;
    refusal_ = {is_off ? Missing::kSwitchedOff : Missing::kModule, 0, Means::kPeerMemory};
    return false;
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

/// Registers an entry on rails it was not tried on; false when it is on none of them afterwards.
/// When a limit stands in the way, others that nobody uses make room, once.
bool Regions::attempt(Entry& entry, RailSet rails) noexcept {
    const bool is_new = entry.rails == 0;
    if (entry.extent.is_vmm && !entry.extent.is_capable) {
        entry.asked |= rails;
        entry.refusal = {Missing::kVmmSupport, 0, Means::kDmaBuf};
        report_refusal(entry.refusal, "the network", kConsequence);
        return false;
    }
    if (is_new && !make_room(0, entry.bytes)) {
        entry.asked |= rails;
        entry.refusal = {Missing::kBounds, 0, Means::kDmaBuf};
        entry.retry_in = kRetryAfter;
        report_refusal(entry.refusal, "the network", kConsequence);
        return false;
    }
    register_on(entry, rails);
    if ((entry.rails & rails) == 0 && may_pass(entry.refusal.missing)) {
        std::uint64_t freed = 0;
        while (freed < entry.bytes) {
            const std::uint64_t before = bytes_;
            if (!evict_one(&entry)) {
                break;
            }
            freed += before - bytes_;
        }
        if (freed != 0) {
            register_on(entry, rails);
        }
        entry.retry_in = kRetryAfter;
    }
    entry.asked |= rails;
    if (is_new && entry.rails != 0) {
        bytes_ += entry.bytes;
    }
    for (const auto& port : ports_) {
        if (has(rails & ~entry.rails, port->rail)) {
            report_refusal(entry.refusal, port->name.c_str(),
                           entry.rails != 0 ? "its messages go by other cards" : kConsequence);
        }
    }
    return (entry.rails & rails) != 0;
}

void Regions::register_on(Entry& entry, RailSet rails) noexcept {
    Registration registration(entry.where, entry.extent);
    const int gpu = entry.where.device;
    const bool is_vmm = entry.extent.is_vmm;
    for (const auto& port : ports_) {
        if (!has(rails, port->rail) || has(entry.rails, port->rail)) {
            continue;
        }
        ibv_mr*& handle = entry.handles[port->device];
        if (handle == nullptr) {
            handle = registration.with(*port, allowed(gpu, is_vmm, *port));
            Way& known = way(gpu, is_vmm, *port);
            if (handle != nullptr) {
                entry.means = registration.means();
                (entry.means == Means::kDmaBuf ? known.dma_buf : known.peer_memory).worked = true;
            } else {
                entry.refusal = registration.refusal();
            }
            // Of several mappings it may be the number that is refused.
            if (entry.extent.parts.size() == 1) {
                note(known.dma_buf, registration.dma_buf());
                note(known.peer_memory, registration.peer_memory());
            }
        }
        use_key(entry, port->rail);
    }
}

void Regions::use_key(Entry& entry, unsigned rail) noexcept {
    if (const ibv_mr* handle = entry.handles[ports_[rail]->device]; handle != nullptr) {
        entry.keys[rail] = {handle->lkey, handle->rkey};
        entry.rails |= RailSet{1} << rail;
    }
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

void Regions::deregister(Entry& entry) noexcept {
    for (const auto& port : ports_) {
        ibv_mr*& handle = entry.handles[port->device];
        if (handle == nullptr) {
            continue;
        }
        if (const int error = port->api->dereg_mr(handle); error != 0) {
            log_once(LogLevel::kWarning, "verbs.dereg_mr",
                     "ibv_dereg_mr on %s failed with error %d: memory stays pinned",
                     port->name.c_str(), error);
        }
        handle = nullptr;
    }
    if (entry.rails != 0 && !entry.extent.parts.empty()) {
        bytes_ -= entry.bytes;
    }
    entry.rails = 0;
    entry.keys = {};
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

Result<Region*> Regions::add_host(void* base, std::size_t bytes, RailSet rails) noexcept {
    auto made = std::make_unique<Entry>();
    made->base = reinterpret_cast<std::uint64_t>(base);
    made->bytes = bytes;
    made->users = 1;
    Refusal refusal;
    for (const auto& port : ports_) {
        if (!has(rails, port->rail)) {
            continue;
        }
        ibv_mr*& handle = made->handles[port->device];
        if (handle == nullptr) {
            handle = register_host(*port, base, bytes, limits_.allowed.relaxed_ordering, refusal);
        }
        if (handle == nullptr) {
            report_refusal(refusal, port->name.c_str(), "the card is not used");
            deregister(*made);
            return fail(refusal);
        }
        use_key(*made, port->rail);
    }
    if (made->rails == 0) {
        return Status::kInvalid;
    }
    hosts_.push_front(std::move(made));
    Entry& entry = *hosts_.front();
    entry.self = hosts_.begin();
    return static_cast<Region*>(&entry);
}

void Regions::remove(Region* region) noexcept {
    Entry& entry = static_cast<Entry&>(*region);
    deregister(entry);
    hosts_.erase(entry.self);
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
