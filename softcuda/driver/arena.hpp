// SPDX-License-Identifier: BSD-3-Clause
// The address space of device memory: a range that faults on the CPU, and its alias that does not.
//
// Both halves are reserved once, at cuInit. A byte of device memory at address p is mapped without
// access rights at p, so that a host dereference faults as on hardware and system calls answer
// EFAULT, and readable and writable at alias(p), a constant distance away, for SoftCUDA itself.
// With SOFTCUDA_HOST_ACCESS it is readable and writable at p too, as on Grace Hopper.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softcuda {

/** Unit of the arena: segments start and end on it. Also the granularity of cuMemCreate. */
inline constexpr uint64_t kSegmentUnit = uint64_t{2} << 20;

struct ArenaRange {
    uint64_t base;
    uint64_t span;
};
/** Set once by arena_reserve; {0, 0} before. */
extern ArenaRange arena_range;

inline bool in_arena(uint64_t address) noexcept {
    return address - arena_range.base < arena_range.span;
}

/** Where this process reads and writes the memory at `address`: identity outside the arena. */
inline char* alias(uint64_t address) noexcept {
    const uint64_t target = in_arena(address) ? address + arena_range.span : address;
    return reinterpret_cast<char*>(target);  // NOLINT: an address becomes a pointer here, once
}

/** Reserves the address space. False: the system has none to give. */
bool arena_reserve() noexcept;

/** A free range of at least `size` bytes, rounded up to kSegmentUnit and aligned to `alignment` (a
 *  power of two, 0: kSegmentUnit). The range freed last is taken first. 0: the arena is full. */
uint64_t arena_take(uint64_t size, uint64_t alignment);

/** As arena_take, at exactly `address`; false if any of it is taken. */
bool arena_take_at(uint64_t address, uint64_t size);

/** Gives a range back; nothing of it may be mapped. */
void arena_give(uint64_t address, uint64_t size);

/** Maps `size` bytes of `fd` from `offset` at `address` and at its alias. */
bool arena_map(uint64_t address, uint64_t size, int fd, uint64_t offset) noexcept;

/** Undoes arena_map: the range is reserved address space again. */
void arena_unmap(uint64_t address, uint64_t size) noexcept;

inline uint64_t round_up(uint64_t size, uint64_t unit) noexcept {
    return (size + unit - 1) / unit * unit;
}

}  // namespace softcuda
