// SPDX-License-Identifier: BSD-3-Clause
// The table of allocations, and device memory.
#include "softcuda/driver/memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <vector>

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/held.hpp"
#include "softcuda/driver/host_memory.hpp"
#include "softcuda/driver/ipc.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/slab.hpp"
#include "softcuda/driver/sparse.hpp"

namespace softcuda {
namespace {

/** What freed memory is filled with when another process can still see it. */
constexpr int kPoison = 0xdb;

struct Memory {
    std::mutex mutex;
    std::map<uint64_t, Allocation> table;  // by address
    Slabs slabs[kMaxDevices];              // by physical device
    uint64_t last_buffer_id = 0;
    std::atomic<uint64_t> changes{0};  // of the table
};

Memory& memory() {
    static Memory& instance = *new Memory;
    return instance;
}

/** Finds room for `size` bytes; the segment is shared for small ones. memory().mutex is held. */
Place find_room(uint64_t size, uint64_t occupied, int physical) {
    if (size <= kSmallLimit) {
        return memory().slabs[physical].take(occupied, physical);
    }
    Segment* segment = make_segment(occupied, physical, false);
    return {segment, segment != nullptr ? segment->address : 0};
}

}  // namespace

std::mutex& memory_mutex() {
    return memory().mutex;
}

uint64_t buffer_id_of(uint64_t address) {
    struct Last {
        uint64_t changes, address, size, id;
    };
    thread_local Last last{};
    Memory& all = memory();
    if (address - last.address < last.size &&
        all.changes.load(std::memory_order_acquire) == last.changes) {
        return last.id;
    }
    const std::lock_guard lock(all.mutex);
    const Allocation* found = find_allocation(address);
    if (found == nullptr) {
        return 0;
    }
    last = {all.changes.load(std::memory_order_relaxed), found->address, found->size,
            found->buffer_id};
    return found->buffer_id;
}

Allocation* find_allocation(uint64_t address) {
    std::map<uint64_t, Allocation>& table = memory().table;
    auto after = table.upper_bound(address);
    if (after == table.begin()) {
        return nullptr;
    }
    Allocation& candidate = (--after)->second;
    return address - candidate.address < candidate.size ? &candidate : nullptr;
}

Allocation& add_allocation(const Allocation& allocation) {
    Allocation& added = memory().table[allocation.address] = allocation;
    added.buffer_id = ++memory().last_buffer_id;
    memory().changes.fetch_add(1, std::memory_order_release);
    return added;
}

void remove_allocation(uint64_t address) {
    memory().table.erase(address);
    memory().changes.fetch_add(1, std::memory_order_release);
}

bool overlaps_allocation(uint64_t address, uint64_t size) {
    std::map<uint64_t, Allocation>& table = memory().table;
    const auto next = table.lower_bound(address);
    return find_allocation(address) != nullptr ||
           (next != table.end() && next->first - address < size);
}

CUresult allocate_device(Device& device, CUctx_st* owner, MemoryKind kind, uint64_t size,
                         CUmemoryPool pool, uint64_t* address) {
    if (size > config().memory) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Allocation allocation;
    allocation.size = size;
    allocation.occupied = round_up(size, size <= kSmallLimit ? kSmallUnit : kSegmentUnit);
    allocation.kind = kind;
    allocation.context = owner;
    allocation.device = &device;
    allocation.pool = pool;
    allocation.generation = new_generation();
    if (!charge(device, allocation.occupied)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const std::lock_guard lock(memory().mutex);
    const Place place = find_room(size, allocation.occupied, device.physical);
    if (place.segment == nullptr) {
        refund(device, allocation.occupied);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation.address = place.address;
    allocation.segment = place.segment;
    SegmentSlot& slot = place.segment->slot(place.address - place.segment->address);
    slot.users.count = 0;
    slot.generation = allocation.generation;
    add_allocation(allocation);
    ledger.device_allocations.fetch_add(1);
    *address = allocation.address;
    return CUDA_SUCCESS;
}

void free_device(uint64_t address) {
    const Allocation allocation = memory().table.at(address);
    Segment* segment = allocation.segment;
    SegmentSlot& slot = segment->slot(address - segment->address);
    slot.generation = 0;
    if (slot.users.count.load() != 0) {
        // Another process still maps these pages: undefined on hardware, made visible here.
        ledger.violations.fetch_add(1);
        if (allocation.size >= config().sparse) {
            fill_data(alias(address), {segment->fd, address - segment->address}, kPoison,
                      allocation.size);
        } else {
            std::memset(alias(address), kPoison, allocation.size);
        }
    }
    remove_allocation(address);
    if (slot.users.count.load() != 0 && allocation.size > kSmallLimit) {
        hold(*allocation.device, allocation.occupied, slot.users, segment->control,
             segment->control_size);
        segment->control = nullptr;
    } else {
        refund(*allocation.device, allocation.occupied);
    }
    if (allocation.size <= kSmallLimit) {
        memory().slabs[allocation.device->physical].give({segment, address}, allocation.occupied);
    } else {
        drop_segment(segment);
    }
    ledger.device_allocations.fetch_sub(1);
}

uint64_t pool_bytes(CUmemoryPool pool) {
    uint64_t bytes = 0;
    for (const auto& [address, allocation] : memory().table) {
        bytes += allocation.pool == pool ? allocation.occupied : 0;
    }
    return bytes;
}

void free_memory_of(CUctx_st& context) {
    const std::lock_guard lock(memory().mutex);
    std::vector<Allocation> owned;
    for (const auto& [address, allocation] : memory().table) {
        if (allocation.context == &context) {
            owned.push_back(allocation);
        }
    }
    for (const Allocation& allocation : owned) {
        switch (allocation.kind) {
            case MemoryKind::kDevice:
                free_device(allocation.address);
                break;
            case MemoryKind::kImported:
                close_import(allocation.address, true);
                break;
            case MemoryKind::kManaged:
            case MemoryKind::kHost:
            case MemoryKind::kRegistered:
                free_host(allocation.address);
                break;
            case MemoryKind::kPool:
            case MemoryKind::kMapped:
                break;  // belong to no context
        }
    }
}

}  // namespace softcuda
