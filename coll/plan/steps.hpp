// SPDX-License-Identifier: BSD-3-Clause
// Steps that several algorithms are made of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/pattern/binomial.hpp"
#include "coll/plan/algorithm.hpp"
#include "coll/plan/emitter.hpp"

namespace beeline::coll::plan {

/// Which of `others` places the contribution of `rank` has, when the own one needs none.
constexpr std::uint32_t other_index(int own, int rank) noexcept {
    return static_cast<std::uint32_t>(rank < own ? rank : rank - 1);
}

/// result = term(0) (op) term(1) (op) ... of `size` ranks, in this order. term(own) may be the
/// result itself; the other terms are scratch.
template <class Term>
void reduce_in_order(Emitter& emit, int size, int own, Place result, std::uint32_t count,
                     Term&& term) {
    const bool in_result = term(own) == result;
    Place held = term(0);
    if (size == 1) {
        emit.copy(result, held, count);
    }
    for (int rank = 1; rank < size; ++rank) {
        const Place target = in_result && rank < own ? term(0) : result;
        emit.reduce(target, held, term(rank), count);
        held = target;
    }
}

/// Calls piece(first, count) for the one or two runs that a run of blocks on a ring of `size`
/// consists of.
template <class Piece>
void on_ring(int size, int first, int count, Piece&& piece) {
    first = (first % size + size) % size;
    const int head = std::min(count, size - first);
    if (head > 0) {
        piece(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(head));
    }
    if (count > head) {
        piece(std::uint32_t{0}, static_cast<std::uint32_t>(count - head));
    }
}

constexpr Place operator+(Place base, std::uint32_t chunks) noexcept {
    return {base.buffer, base.chunk + chunks, base.like + chunks};
}

/// Of a gather or scatter along a binomial tree: the root moves the blocks of all others.
inline Cost binomial_blocks_cost(const Request& request, double bytes) noexcept {
    return {static_cast<double>(pattern::log2_up(request.size)), (request.size - 1.0) * bytes, 0, 0,
            0};
}

/// Allgather after J. Bruck et al., "Efficient algorithms for all-to-all communications in
/// multiport message-passing systems", IEEE TPDS 8 (1997), among `size` members of whom this is
/// number `own`: block b, held by member b at the start, lies at blocks + b on every member. Step k
/// brings the run of blocks that begins 2^k further on; runs lie in place, so nothing is rotated at
/// the end. ceil(log2) steps for every size; each block is received once.
template <class Rank>
void bruck_allgather(Emitter& emit, int size, int own, Place blocks, Rank&& rank_of) {
    for (int distance = 1; distance < size; distance *= 2) {
        const int count = std::min(distance, size - distance);
        const int from = (own + distance) % size;
        const int to = (own - distance + size) % size;
        on_ring(size, from, count, [&](std::uint32_t first, std::uint32_t number) {
            emit.receive(rank_of(from), blocks + first, number);
        });
        on_ring(size, own, count, [&](std::uint32_t first, std::uint32_t number) {
            emit.send(rank_of(to), blocks + first, number);
        });
    }
}

/// The time reversal of bruck_allgather: reduce-scatter. Contributions are at `own_blocks` + b;
/// sums are made in `work` + b, from messages that land in `landing` + b; the sum of block `own`
/// ends in `result`. Not ordered. ceil(log2) steps, (size-1)/size of the data, for every size.
template <class Rank>
void bruck_reduce_scatter(Emitter& emit, int size, int own, Place own_blocks, Place work,
                          Place landing, Place result, Rank&& rank_of) {
    int summed = 0;  // relative to a member's number, blocks below this are in its `work`
    // Runs of a member's blocks, split where contributions give way to sums and where the ring
    // closes: the same on both sides.
    const auto pieces = [&](int member, int first, int count, auto&& piece) {
        const int below = std::clamp(summed - first, 0, count);
        on_ring(size, member + first, below,
                [&](std::uint32_t at, std::uint32_t number) { piece(at, number, true); });
        on_ring(size, member + first + below, count - below,
                [&](std::uint32_t at, std::uint32_t number) { piece(at, number, false); });
    };
    for (int distance = 1 << (pattern::log2_up(size) - 1); distance > 0; distance /= 2) {
        const int count = std::min(distance, size - distance);
        const int to = (own + distance) % size;
        const int from = (own - distance + size) % size;
        pieces(from, distance, count, [&](std::uint32_t at, std::uint32_t number, bool) {
            emit.receive(rank_of(from), landing + at, number);
        });
        pieces(own, distance, count, [&](std::uint32_t at, std::uint32_t number, bool sum) {
            emit.send(rank_of(to), (sum ? work : own_blocks) + at, number);
        });
        pieces(own, 0, count, [&](std::uint32_t at, std::uint32_t number, bool sum) {
            emit.reduce(distance == 1 ? result : work + at, landing + at,
                        (sum ? work : own_blocks) + at, number);
        });
        summed = std::max(summed, count);
    }
}

}  // namespace beeline::coll::plan
