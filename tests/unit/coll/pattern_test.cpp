// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic: pieces tile a vector, rings close, folds keep neighbours together.
#include <gtest/gtest.h>

#include <set>

#include "coll/pattern/chunks.hpp"
#include "coll/pattern/doubling.hpp"
#include "coll/pattern/ring.hpp"

namespace beeline::coll::pattern {
namespace {

TEST(Chunks, TileTheVectorEvenly) {
    for (const std::size_t total : {0U, 1U, 2U, 7U, 64U, 1000U}) {
        for (std::size_t parts = 1; parts <= 70; ++parts) {
            std::size_t next = 0;
            for (std::size_t index = 0; index < parts; ++index) {
                const Piece part = piece(total, parts, index);
                EXPECT_EQ(part.offset, next);
                EXPECT_LE(part.count, largest_piece(total, parts));
                EXPECT_GE(part.count + 1, largest_piece(total, parts));
                next += part.count;
            }
            EXPECT_EQ(next, total);
        }
    }
}

TEST(Ring, WhatOneSendsTheNextReceives) {
    for (int size = 2; size <= 33; ++size) {
        for (int rank = 0; rank < size; ++rank) {
            const int next = ring_next(size, rank);
            EXPECT_EQ(ring_previous(size, next), rank);
            for (int step = 0; step + 1 < size; ++step) {
                EXPECT_EQ(ring_reduce_sent(size, rank, step),
                          ring_reduce_received(size, next, step));
                EXPECT_EQ(ring_gather_sent(size, rank, step),
                          ring_gather_received(size, next, step));
            }
            EXPECT_EQ(ring_reduce_received(size, rank, size - 2), ring_owned(size, rank));
        }
    }
}

TEST(Ring, GathersEveryChunkButItsOwn) {
    for (int size = 2; size <= 33; ++size) {
        std::set<int> chunks{ring_owned(size, 1)};
        for (int step = 0; step + 1 < size; ++step) {
            chunks.insert(ring_gather_received(size, 1, step));
        }
        EXPECT_EQ(chunks.size(), static_cast<std::size_t>(size));
    }
}

TEST(Doubling, FoldsTheLeastPossible) {
    static_assert(fold(1).power == 1 && fold(1).extra == 0);
    static_assert(fold(6).power == 4 && fold(6).extra == 2);
    static_assert(fold(8).power == 8 && fold(8).extra == 0);
    static_assert(doubling_steps(6) == 2 && doubling_steps(16) == 4);
}

TEST(Doubling, ActingRanksAreOrderedAndCoverAll) {
    for (int size = 1; size <= 100; ++size) {
        const Fold shape = fold(size);
        int covered = 0;
        for (int index = 0; index < shape.power; ++index) {
            const int rank = acting_rank(size, index);
            EXPECT_EQ(acting_index(size, rank), index);
            EXPECT_FALSE(folded(size, rank));
            covered += folds_neighbour(size, rank) ? 2 : 1;
            // It stands for all ranks since the one before it: neighbours, in order.
            EXPECT_EQ(rank + 1, covered);
        }
        EXPECT_EQ(covered, size);
    }
}

TEST(Doubling, ExchangesAreMutual) {
    for (int size = 2; size <= 70; ++size) {
        for (int index = 0; index < fold(size).power; ++index) {
            const int rank = acting_rank(size, index);
            for (int step = 0; step < doubling_steps(size); ++step) {
                const int peer = doubling_peer(size, rank, step);
                EXPECT_NE(peer, rank);
                EXPECT_EQ(doubling_peer(size, peer, step), rank);
            }
        }
    }
}

}  // namespace
}  // namespace beeline::coll::pattern
