// SPDX-License-Identifier: BSD-3-Clause
// Chunks of a message are about equal, and no more than needed.
#include "protocol/chunks.hpp"

#include <gtest/gtest.h>

namespace {

using beeline::protocol::even_chunk;

constexpr std::size_t kMost = 256 << 10;

TEST(EvenChunk, WhatFitsIsNotCut) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kMost - 1, kMost}) {
        EXPECT_EQ(even_chunk(bytes, kMost), kMost) << bytes;
    }
}

TEST(EvenChunk, ChunksAreAsFewAsPossibleAndDifferByLessThanAPageEach) {
    for (std::size_t bytes = kMost + 1; bytes < 5 * kMost; bytes += 3001) {
        const std::size_t chunk = even_chunk(bytes, kMost);
        const std::size_t fewest = (bytes + kMost - 1) / kMost;
        ASSERT_LE(chunk, kMost) << bytes;
        ASSERT_EQ((bytes + chunk - 1) / chunk, fewest) << bytes;
        ASSERT_GE(bytes - (fewest - 1) * chunk + fewest * 4096, chunk) << bytes;
    }
}

TEST(EvenChunk, IsNeverMoreThanAnOddOrSmallLimit) {
    EXPECT_EQ(even_chunk(5002, 5001), 4096U);
    EXPECT_EQ(even_chunk(10, 3), 3U);
    EXPECT_EQ(even_chunk(10, 0), 0U);
}

}  // namespace
