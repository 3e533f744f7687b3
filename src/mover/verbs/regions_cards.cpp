// SPDX-License-Identifier: BSD-3-Clause
// The cards' side of the cache: which means are worth a try, registering, deregistering.
#include "base/log.hpp"
#include "mover/verbs/api.hpp"
#include "mover/verbs/entry.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr unsigned kRefusals = 3;      // in a row, before a means that never worked is given up
constexpr unsigned kRetryAfter = 256;  // uses, before a limit that was reached is tried again
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

Result<Region*> Regions::add_host(void* base, std::size_t bytes, RailSet rails,
                                  LogLevel level) noexcept {
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
            if (level == LogLevel::kWarning) {
                report_refusal(refusal, port->name.c_str(), "the card is not used");
            }
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

}  // namespace beeline::mover::verbs
