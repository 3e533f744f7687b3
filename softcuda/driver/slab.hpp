// SPDX-License-Identifier: BSD-3-Clause
// Small allocations of one device, which share segments.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "softcuda/driver/segment.hpp"

namespace softcuda {

/** A place for a small allocation. */
struct Place {
    Segment* segment;
    uint64_t address;
};

/** The slabs of one device. Memory freed last is used first, at the same address. Callers hold
 *  memory_mutex. */
class Slabs {
 public:
    /** Room for `size` bytes, a multiple of kSmallUnit; segment is nullptr when there is none. */
    Place take(uint64_t size, int physical);

    /** Gives a place back. */
    void give(const Place& place, uint64_t size);

 private:
    struct Slab {
        Segment* segment;
        uint64_t used;  // bytes from the start that were ever taken
        uint64_t live;  // allocations in it
    };

    Place take_from(Slab& slab, uint64_t size);
    void forget_freed(const Segment& segment);

    std::vector<Slab> slabs_;
    std::map<uint64_t, std::vector<Place>> freed_;  // by size, the newest last
};

}  // namespace softcuda
