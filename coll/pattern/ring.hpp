// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic of the ring: who talks to whom, and which chunk moves in which step.
#pragma once

namespace beeline::coll::pattern {

/// The rank that `rank` of `size` sends to.
constexpr int ring_next(int size, int rank) noexcept {
    return rank + 1 == size ? 0 : rank + 1;
}

/// The rank that `rank` of `size` receives from.
constexpr int ring_previous(int size, int rank) noexcept {
    return rank == 0 ? size - 1 : rank - 1;
}

/// `rank - distance` on the ring, for 0 <= distance <= 2 * size.
constexpr int ring_back(int size, int rank, int distance) noexcept {
    return (rank - distance + 2 * size) % size;
}

/// The chunk `rank` sends in step 0 .. size-2 of the reduce-scatter half.
constexpr int ring_reduce_sent(int size, int rank, int step) noexcept {
    return ring_back(size, rank, step);
}

/// The chunk `rank` receives and reduces in step 0 .. size-2 of the reduce-scatter half.
constexpr int ring_reduce_received(int size, int rank, int step) noexcept {
    return ring_back(size, rank, step + 1);
}

/// The chunk that `rank` holds complete after the reduce-scatter half.
constexpr int ring_owned(int size, int rank) noexcept {
    return ring_next(size, rank);
}

/// The chunk `rank` sends in step 0 .. size-2 of the allgather half.
constexpr int ring_gather_sent(int size, int rank, int step) noexcept {
    return ring_back(size, ring_owned(size, rank), step);
}

/// The chunk `rank` receives in step 0 .. size-2 of the allgather half.
constexpr int ring_gather_received(int size, int rank, int step) noexcept {
    return ring_back(size, rank, step);
}

}  // namespace beeline::coll::pattern
