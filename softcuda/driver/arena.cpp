// SPDX-License-Identifier: BSD-3-Clause
// Reserves device address space and hands out ranges of it, last freed first.
#include "softcuda/driver/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "softcuda/driver/config.hpp"

namespace softcuda {

constinit ArenaRange arena_range{0, 0};

namespace {

struct Range {
    uint64_t address;
    uint64_t size;
};

struct FreeRanges {
    std::mutex mutex;
    std::vector<Range> freed;  // the newest last
    uint64_t top = 0;          // everything above was never taken
};

FreeRanges& ranges() {
    static FreeRanges& instance = *new FreeRanges;
    return instance;
}

void* pointer(uint64_t address) {
    return reinterpret_cast<void*>(address);
}

bool map_one(uint64_t address, uint64_t size, int protection, int fd, uint64_t offset) noexcept {
    const int flags =
        MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED);
    return mmap(pointer(address), size, protection, flags, fd, static_cast<off_t>(offset)) !=
           MAP_FAILED;
}

/** Joins neighbours; loses the order of freeing, so only done when space runs short. */
void join(FreeRanges& all) {
    std::sort(all.freed.begin(), all.freed.end(),
              [](const Range& a, const Range& b) { return a.address < b.address; });
    std::vector<Range> joined;
    for (const Range& range : all.freed) {
        if (!joined.empty() && joined.back().address + joined.back().size == range.address) {
            joined.back().size += range.size;
        } else {
            joined.push_back(range);
        }
    }
    if (!joined.empty() && joined.back().address + joined.back().size == all.top) {
        all.top = joined.back().address;
        joined.pop_back();
    }
    all.freed = std::move(joined);
}

/** Takes [address, address + size) out of free range number `index`. */
void carve(FreeRanges& all, size_t index, uint64_t address, uint64_t size) {
    const Range old = all.freed[index];
    all.freed.erase(all.freed.begin() + static_cast<ptrdiff_t>(index));
    if (old.address < address) {
        all.freed.push_back({old.address, address - old.address});
    }
    if (old.address + old.size > address + size) {
        all.freed.push_back({address + size, old.address + old.size - (address + size)});
    }
}

/** The newest freed range that fits; exact ones before larger ones. */
uint64_t take_freed(FreeRanges& all, uint64_t size, uint64_t alignment) {
    for (const bool exact : {true, false}) {
        for (size_t i = all.freed.size(); i-- > 0;) {
            const Range range = all.freed[i];
            const uint64_t address = round_up(range.address, alignment);
            if (exact ? range.size == size && address == range.address
                      : address + size <= range.address + range.size) {
                carve(all, i, address, size);
                return address;
            }
        }
    }
    return 0;
}

uint64_t take_new(FreeRanges& all, uint64_t size, uint64_t alignment) {
    const uint64_t address = round_up(all.top, alignment);
    if (address + size > arena_range.base + arena_range.span) {
        return 0;
    }
    if (address > all.top) {
        all.freed.push_back({all.top, address - all.top});
    }
    all.top = address + size;
    return address;
}

}  // namespace

bool arena_reserve() noexcept {
    // A mapping without rights costs only address space, of which there may be a limit.
    for (uint64_t span = uint64_t{1} << 40; span >= uint64_t{1} << 34; span >>= 1) {
        void* start = mmap(nullptr, 2 * span + kSegmentUnit, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start != MAP_FAILED) {
            const uint64_t base = round_up(reinterpret_cast<uint64_t>(start), kSegmentUnit);
            ranges().top = base;
            arena_range = {base, span};
            return true;
        }
    }
    return false;
}

uint64_t arena_take(uint64_t size, uint64_t alignment) {
    size = round_up(size, kSegmentUnit);
    alignment = std::max(alignment, kSegmentUnit);
    FreeRanges& all = ranges();
    const std::lock_guard lock(all.mutex);
    uint64_t address = take_freed(all, size, alignment);
    if (address == 0) {
        address = take_new(all, size, alignment);
    }
    if (address == 0) {
        join(all);
        address = take_freed(all, size, alignment);
    }
    return address != 0 ? address : take_new(all, size, alignment);
}

bool arena_take_at(uint64_t address, uint64_t size) {
    size = round_up(size, kSegmentUnit);
    if (address % kSegmentUnit != 0 || !in_arena(address) || !in_arena(address + size - 1)) {
        return false;
    }
    FreeRanges& all = ranges();
    const std::lock_guard lock(all.mutex);
    join(all);
    if (address >= all.top) {
        if (address > all.top) {
            all.freed.push_back({all.top, address - all.top});
        }
        all.top = address + size;
        return true;
    }
    for (size_t i = 0; i < all.freed.size(); ++i) {
        const Range range = all.freed[i];
        if (range.address <= address && address + size <= range.address + range.size) {
            carve(all, i, address, size);
            return true;
        }
    }
    return false;
}

void arena_give(uint64_t address, uint64_t size) {
    FreeRanges& all = ranges();
    const std::lock_guard lock(all.mutex);
    all.freed.push_back({address, round_up(size, kSegmentUnit)});
}

bool arena_map(uint64_t address, uint64_t size, int fd, uint64_t offset) noexcept {
    const int rights = config().host_access ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (!map_one(address, size, rights, fd, offset)) {
        return false;
    }
    if (!map_one(address + arena_range.span, size, PROT_READ | PROT_WRITE, fd, offset)) {
        arena_unmap(address, size);
        return false;
    }
    return true;
}

void arena_unmap(uint64_t address, uint64_t size) noexcept {
    map_one(address, size, PROT_NONE, -1, 0);
    map_one(address + arena_range.span, size, PROT_NONE, -1, 0);
}

}  // namespace softcuda
