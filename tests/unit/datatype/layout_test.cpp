// SPDX-License-Identifier: BSD-3-Clause
// Layouts whose runs can be counted by hand.
#include "datatype/layout.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace beeline::datatype {
namespace {

struct Piece {
    std::ptrdiff_t offset;
    std::size_t bytes;
    std::size_t packed;
    bool operator==(const Piece&) const = default;
};

std::vector<Piece> runs(const Layout& layout, std::size_t count, std::size_t skip,
                        std::size_t length) {
    std::vector<Piece> result;
    for_each_run(layout, count, skip, length,
                 [&](std::ptrdiff_t offset, std::size_t bytes, std::size_t packed) {
                     result.push_back(Piece{offset, bytes, packed});
                 });
    return result;
}

TEST(Layout, PlainBytesAreOneRun) {
    const Layout layout = byte_layout(8);
    EXPECT_TRUE(layout.contiguous(5));
    EXPECT_EQ(layout.bytes(5), 40u);
    EXPECT_EQ(layout.first_offset(), 0);
    EXPECT_EQ(runs(layout, 5, 0, 40), (std::vector<Piece>{{0, 40, 0}}));
    EXPECT_EQ(runs(layout, 5, 7, 10), (std::vector<Piece>{{7, 10, 0}}));
}

TEST(Layout, AStridedColumnIsARunPerElement) {
    const Layout column{4, 16, {{0, 4}}};
    EXPECT_TRUE(column.contiguous(1));
    EXPECT_FALSE(column.contiguous(2));
    EXPECT_EQ(runs(column, 3, 0, 12), (std::vector<Piece>{{0, 4, 0}, {16, 4, 4}, {32, 4, 8}}));
    EXPECT_EQ(runs(column, 3, 3, 6), (std::vector<Piece>{{3, 1, 0}, {16, 4, 1}, {32, 1, 5}}));
}

TEST(Layout, TheEndOfOneElementJoinsTheStartOfTheNext) {
    const Layout layout{8, 16, {{0, 4}, {12, 4}}};
    EXPECT_EQ(runs(layout, 2, 0, 16), (std::vector<Piece>{{0, 4, 0}, {12, 8, 4}, {28, 4, 12}}));
}

TEST(Layout, OffsetsBeforeTheAddressAndBackwardsOrder) {
    const Layout layout{6, 0, {{-4, 2}, {8, 2}, {-8, 2}}};
    EXPECT_EQ(layout.first_offset(), -4);
    EXPECT_EQ(runs(layout, 1, 0, 6), (std::vector<Piece>{{-4, 2, 0}, {8, 2, 2}, {-8, 2, 4}}));
}

TEST(Layout, NothingToVisit) {
    EXPECT_TRUE(runs(Layout{}, 5, 0, 10).empty());
    EXPECT_TRUE(runs(byte_layout(4), 0, 0, 10).empty());
    EXPECT_TRUE(runs(byte_layout(4), 2, 8, 10).empty());
    EXPECT_TRUE(runs(byte_layout(4), 2, 100, 10).empty());
    EXPECT_TRUE(runs(byte_layout(4), 2, 3, 0).empty());
}

TEST(Layout, ARangeBeyondTheEndIsCut) {
    EXPECT_EQ(runs(byte_layout(4), 2, 6, 100), (std::vector<Piece>{{6, 2, 0}}));
}

TEST(Layout, ARoundTripLeavesTheGapsAlone) {
    const Layout layout{5, 10, {{0, 2}, {4, 3}}};
    const char source[] = "abXXcdeXXXfgXXhijXXX";
    char target[] = "....................";
    std::array<std::byte, 10> packed;
    pack(layout, 2, source, 0, packed);
    EXPECT_EQ(std::memcmp(packed.data(), "abcdefghij", 10), 0);
    unpack(layout, 2, target, 0, packed);
    EXPECT_STREQ(target, "ab..cde...fg..hij...");
}

}  // namespace
}  // namespace beeline::datatype
