// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic of the binomial tree that is rooted at 0: the subtree of a rank is a run of ranks
// that begins with it.
#pragma once

#include <algorithm>

namespace beeline::coll::pattern {

/// The steps to reach `size` ranks by doubling: the logarithm, rounded up.
constexpr int log2_up(int size) noexcept {
    int steps = 0;
    while ((1LL << steps) < size) {
        ++steps;
    }
    return steps;
}

/// The height of the subtree of `rank`: its children are rank + 2^k for k below it (where they
/// exist). The root's is log2_up(size).
constexpr int binomial_height(int size, int rank) noexcept {
    if (rank == 0) {
        return log2_up(size);
    }
    int height = 0;
    while ((rank >> height & 1) == 0) {
        ++height;
    }
    return height;
}

/// The parent of a rank that is not 0.
constexpr int binomial_parent(int rank) noexcept {
    return rank & (rank - 1);
}

/// How many ranks the subtree of `rank` has, when its height is `height`.
constexpr int binomial_ranks(int size, int rank, int height) noexcept {
    return static_cast<int>(std::min<long long>(1LL << height, size - rank));
}

/// `rank` counted from `root`.
constexpr int from_root(int size, int rank, int root) noexcept {
    return rank >= root ? rank - root : rank - root + size;
}

/// The inverse of from_root.
constexpr int to_rank(int size, int index, int root) noexcept {
    return index + root < size ? index + root : index + root - size;
}

}  // namespace beeline::coll::pattern
