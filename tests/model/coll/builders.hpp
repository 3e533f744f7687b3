// SPDX-License-Identifier: BSD-3-Clause
// The schedules under test, for all ranks of a world.
#pragma once

#include <vector>

#include "coll/plan/allreduce.hpp"

namespace beeline::coll::plan {

enum class Builder { kRing, kSlicedRing, kRecursiveDoubling };

inline Schedule build(Builder builder, int size, int rank, std::size_t count, bool in_place) {
    switch (builder) {
        case Builder::kRing:
            return build_allreduce_ring(size, rank, count, in_place);
        case Builder::kSlicedRing:
            return build_allreduce_ring(size, rank, count, in_place, 3);
        case Builder::kRecursiveDoubling:
            return build_allreduce_recursive_doubling(size, rank, count, in_place);
    }
    return {};
}

/// Which ranks are in place: nobody, all, or the odd ones.
enum class InPlace { kNobody, kAll, kOdd };

inline std::vector<Schedule> build_world(Builder builder, int size, std::size_t count,
                                         InPlace in_place) {
    std::vector<Schedule> world;
    for (int rank = 0; rank < size; ++rank) {
        const bool here = in_place == InPlace::kAll || (in_place == InPlace::kOdd && rank % 2 == 1);
        world.push_back(build(builder, size, rank, count, here));
    }
    return world;
}

}  // namespace beeline::coll::plan
