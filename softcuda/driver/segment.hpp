// SPDX-License-Identifier: BSD-3-Clause
// Segments: pieces of device memory backed by one memfd each, which other processes can map.
//
// Behind the data of a segment lies a control area with one slot for each allocation that can start
// in it. A slot holds the generation of the allocation living there, so that a handle to a freed
// one is recognised however soon the address or the descriptor number is used again, and the number
// of other processes that have it open.
#pragma once

#include <atomic>
#include <cstdint>

#include "softcuda/driver/device.hpp"
#include "softcuda/driver/held.hpp"

namespace softcuda {

/** Allocations up to this size share segments. */
inline constexpr uint64_t kSmallLimit = uint64_t{1} << 20;
/** Alignment of every allocation. */
inline constexpr uint64_t kSmallUnit = 512;

struct SegmentSlot {
    std::atomic<uint64_t> generation;  // 0: no allocation starts here
    Users users;                       // other processes with open handles
};

struct SegmentControl {
    uint64_t magic;
    uint64_t generation;
    uint64_t data_size;
    int32_t physical;  // device
    uint32_t slots;
    SegmentSlot slot[1];  // in truth `slots` of them
};

/** A segment mapped in this process: one of our own or another process's. */
struct Segment {
    int fd = -1;
    uint64_t address = 0;
    uint64_t size = 0;
    int physical = 0;
    uint64_t control_size = 0;
    SegmentControl* control = nullptr;

    /** The slot of an allocation that starts `offset` bytes into the segment. */
    SegmentSlot& slot(uint64_t offset) const {
        return control->slot[control->slots == 1 ? 0 : offset / kSmallUnit];
    }
};

/** A number no segment, allocation or event of any process has had. */
uint64_t new_generation();

/** Makes a segment of `size` bytes (a multiple of kSegmentUnit), with slots for small allocations
 * if `shared`, maps it and reserves its address. nullptr: out of memory. */
Segment* make_segment(uint64_t size, int physical, bool shared);

/** Maps the segment behind `fd`, which it takes over; nullptr if it is none. */
Segment* open_segment(int fd);

/** Unmaps and forgets the segment; its address is free again. Others keep their mappings. */
void drop_segment(Segment* segment);

/** Opens descriptor `fd` of process `pid` for reading and writing; -1 if that cannot be done. */
int open_peer_fd(int pid, int fd) noexcept;

}  // namespace softcuda
