// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic of recursive doubling, with neighbours folded when the size is not a power of
// two.
//
// With size = power + extra, the first 2*extra ranks form pairs (2i, 2i+1). The even one hands its
// data to the odd one, which acts for both; so the acting ranks, taken in order, hold consecutive
// ranges of ranks and every later combination of aligned blocks keeps the rank order.
#pragma once

namespace beeline::coll::pattern {

/// The largest power of two not above `size`, and how many ranks are left over.
struct Fold {
    int power = 1;
    int extra = 0;
};

constexpr Fold fold(int size) noexcept {
    int power = 1;
    while (power <= size / 2) {
        power *= 2;
    }
    return {power, size - power};
}

/// Whether `rank` hands its data to its neighbour and waits for the result.
constexpr bool folded(int size, int rank) noexcept {
    return rank < 2 * fold(size).extra && rank % 2 == 0;
}

/// Whether `rank` acts for its lower neighbour too.
constexpr bool folds_neighbour(int size, int rank) noexcept {
    return rank < 2 * fold(size).extra && rank % 2 == 1;
}

/// The other rank of a folded pair.
constexpr int fold_partner(int rank) noexcept {
    return rank ^ 1;
}

/// The place of an acting rank among the acting ranks: 0 .. power-1.
constexpr int acting_index(int size, int rank) noexcept {
    const int extra = fold(size).extra;
    return rank < 2 * extra ? rank / 2 : rank - extra;
}

/// The inverse of acting_index.
constexpr int acting_rank(int size, int index) noexcept {
    const int extra = fold(size).extra;
    return index < extra ? 2 * index + 1 : index + extra;
}

/// Exchange steps between acting ranks: log2 of the power.
constexpr int doubling_steps(int size) noexcept {
    int steps = 0;
    for (int power = fold(size).power; power > 1; power /= 2) {
        ++steps;
    }
    return steps;
}

/// The acting rank that the acting `rank` exchanges with in `step`.
constexpr int doubling_peer(int size, int rank, int step) noexcept {
    return acting_rank(size, acting_index(size, rank) ^ (1 << step));
}

}  // namespace beeline::coll::pattern
