// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic of the butterfly on negabinary distances (Bine): ranks that meet in step s are
// 1, -1, 3, -5, 11, ... apart, so that most of the data stays near.
#pragma once

#include <algorithm>
#include <vector>

namespace beeline::coll::pattern {

/// The sum of (-2)^i for i = 0 .. exponent.
constexpr int negabinary_distance(int exponent) noexcept {
    int sum = 0;
    int term = 1;
    for (int i = 0; i <= exponent; ++i) {
        sum += term;
        term *= -2;
    }
    return sum;
}

/// Whom `rank` meets in the step with that exponent; `size` is even, and the peer's peer is `rank`.
constexpr int bine_peer(int size, int rank, int exponent) noexcept {
    const int distance = negabinary_distance(exponent) % size;
    return (rank + (rank % 2 == 0 ? distance : -distance) + size) % size;
}

/// The ranks that can still be reached from `rank` with the exponents below `exponents`, each used
/// once at most, from the highest down; ascending. Itself is among them.
inline std::vector<int> bine_reach(int size, int rank, int exponents) {
    std::vector<int> reach{rank};
    // The order of steps is from the highest exponent down: whoever is there meets one more.
    for (int exponent = exponents - 1; exponent >= 0; --exponent) {
        const std::size_t before = reach.size();
        for (std::size_t i = 0; i < before; ++i) {
            reach.push_back(bine_peer(size, reach[i], exponent));
        }
        std::sort(reach.begin(), reach.end());
        reach.erase(std::unique(reach.begin(), reach.end()), reach.end());
    }
    return reach;
}

}  // namespace beeline::coll::pattern
