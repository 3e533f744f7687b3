// SPDX-License-Identifier: BSD-3-Clause
// Slabs: bump allocation with exact-size reuse, last freed first.
#include "softcuda/driver/slab.hpp"

#include "softcuda/driver/arena.hpp"

namespace softcuda {

Place Slabs::take_from(Slab& slab, uint64_t size) {
    const Place place{slab.segment, slab.segment->address + slab.used};
    slab.used += size;
    ++slab.live;
    return place;
}

void Slabs::forget_freed(const Segment& segment) {
    for (auto& [size, places] : freed_) {
        std::erase_if(places, [&](const Place& place) { return place.segment == &segment; });
    }
}

Place Slabs::take(uint64_t size, int physical) {
    if (const auto found = freed_.find(size); found != freed_.end() && !found->second.empty()) {
        const Place place = found->second.back();
        found->second.pop_back();
        for (Slab& slab : slabs_) {
            slab.live += slab.segment == place.segment ? 1 : 0;
        }
        return place;
    }
    for (Slab& slab : slabs_) {
        if (slab.used + size > slab.segment->size && slab.live == 0) {
            forget_freed(*slab.segment);  // an empty slab may be cut up anew
            slab.used = 0;
        }
        if (slab.used + size <= slab.segment->size) {
            return take_from(slab, size);
        }
    }
    Segment* segment = make_segment(kSegmentUnit, physical, true);
    if (segment == nullptr) {
        return {nullptr, 0};
    }
    slabs_.push_back({segment, 0, 0});
    return take_from(slabs_.back(), size);
}

void Slabs::give(const Place& place, uint64_t size) {
    freed_[size].push_back(place);
    for (Slab& slab : slabs_) {
        slab.live -= slab.segment == place.segment ? 1 : 0;
    }
}

}  // namespace softcuda
