// SPDX-License-Identifier: BSD-3-Clause
// Places in elements; the table of algorithms.
#include <gtest/gtest.h>

#include <set>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/layout.hpp"

namespace beeline::coll::plan {
namespace {

bool operator==(const Piece& piece, const std::pair<std::size_t, std::size_t>& wanted) {
    return piece.offset == wanted.first && piece.count == wanted.second;
}

TEST(Layout, AVectorIsCutEvenlyAndThenIntoSlices) {
    Schedule schedule;
    schedule.input_blocks = schedule.output_blocks = schedule.frame_blocks = 3;
    schedule.slices = 2;
    schedule.mirrors = 2;
    schedule.slots = 3;
    const Layout layout(schedule, {10, {}, {}});
    EXPECT_TRUE(layout.locate({Buffer::kInput, 0, 0}, 1) == std::pair(0UL, 2UL));
    EXPECT_TRUE(layout.locate({Buffer::kInput, 1, 0}, 1) == std::pair(2UL, 2UL));
    EXPECT_TRUE(layout.locate({Buffer::kOutput, 2, 0}, 3) == std::pair(4UL, 5UL));
    EXPECT_TRUE(layout.locate({Buffer::kOutput, 0, 0}, 6) == std::pair(0UL, 10UL));
    EXPECT_TRUE(layout.locate({Buffer::kMirror, 6, 0}, 2) == std::pair(16UL, 4UL));
    EXPECT_TRUE(layout.locate({Buffer::kSlot, 1, 5}, 1) == std::pair(34UL, 1UL));
    EXPECT_EQ(layout.scratch(), 32U + 3 * 2);
    EXPECT_TRUE(layout.locate({Buffer::kOutput, 3, 0}, 0) == std::pair(0UL, 0UL));
}

TEST(Layout, BlocksThatVaryComeFromTables) {
    Schedule schedule;
    schedule.collective = Collective::kAllgather;
    schedule.cut = Cut::kScattered;
    schedule.input_blocks = 1;
    schedule.output_blocks = schedule.frame_blocks = 3;
    schedule.slots = 1;
    const std::size_t counts[] = {4, 0, 7};
    const std::size_t displacements[] = {10, 3, 20};
    const Layout layout(schedule, {4, {}, {counts, displacements}});
    EXPECT_TRUE(layout.locate({Buffer::kInput, 0, 0}, 1) == std::pair(0UL, 4UL));
    EXPECT_TRUE(layout.locate({Buffer::kOutput, 0, 0}, 1) == std::pair(10UL, 4UL));
    EXPECT_TRUE(layout.locate({Buffer::kOutput, 1, 0}, 1) == std::pair(3UL, 0UL));
    EXPECT_TRUE(layout.locate({Buffer::kSlot, 0, 2}, 1) == std::pair(0UL, 7UL));
    EXPECT_EQ(layout.scratch(), 7U);
}

TEST(Layout, NothingHasNoChunks) {
    Schedule schedule;
    schedule.input_blocks = schedule.output_blocks = schedule.frame_blocks = 4;
    schedule.slots = 2;
    const Layout layout(schedule, {0, {}, {}});
    EXPECT_TRUE(layout.locate({Buffer::kOutput, 1, 0}, 3) == std::pair(0UL, 0UL));
    EXPECT_EQ(layout.scratch(), 0U);
}

TEST(Table, NamesAreFoundAndDiffer) {
    std::set<std::string> names;
    for (const Algorithm* algorithm : algorithms()) {
        EXPECT_EQ(find(algorithm->collective, algorithm->name), algorithm);
        EXPECT_TRUE(
            names.insert(std::string(to_string(algorithm->collective)) + ' ' + algorithm->name)
                .second);
    }
    for (int number = 0; number < kCollectives; ++number) {
        const auto collective = static_cast<Collective>(number);
        EXPECT_FALSE(algorithms(collective).empty()) << to_string(collective);
        Collective found = Collective::kAllreduce;
        EXPECT_TRUE(find(to_string(collective), found));
        EXPECT_EQ(found, collective);
    }
    Collective found = Collective::kScan;
    EXPECT_FALSE(find("allreduc", found));
    EXPECT_EQ(find(Collective::kScan, "ring"), nullptr);
}

TEST(Table, EveryCallHasAnAlgorithm) {
    for (int number = 0; number < kCollectives; ++number) {
        for (const int size : {1, 2, 5, 4097}) {
            Request request;
            request.collective = static_cast<Collective>(number);
            request.size = size;
            for (const Cut cut : {Cut::kEqual, Cut::kVarying, Cut::kScattered}) {
                for (const int choice : {0, 1, 2, 3}) {
                    request.cut = cut;
                    request.in_place = choice % 2 == 1;
                    request.commutative = choice < 2;
                    bool served = false;
                    for (const Algorithm* algorithm : algorithms(request.collective)) {
                        served = served || refuses(*algorithm, request) == nullptr;
                    }
                    // What MPI does not have, or its caller must arrange.
                    const bool impossible =
                        (request.in_place && (request.collective == Collective::kReduceScatter ||
                                              on_neighbors(request.collective))) ||
                        (request.collective == Collective::kReduceScatter &&
                         cut == Cut::kScattered);
                    EXPECT_EQ(served, !impossible) << to_string(request.collective) << size;
                }
            }
        }
    }
}

TEST(Table, WhatIsOutsideTheCommunicatorIsRefused) {
    const Algorithm& bcast = *find(Collective::kBcast, "binomial");
    Request request;
    request.collective = Collective::kBcast;
    request.size = 4;
    EXPECT_EQ(refuses(bcast, request), nullptr);
    request.root = 4;
    EXPECT_NE(refuses(bcast, request), nullptr);
    request.root = -1;
    EXPECT_NE(refuses(bcast, request), nullptr);
    request.root = 0;
    request.rank = 4;
    EXPECT_NE(refuses(bcast, request), nullptr);
    request.rank = 0;
    request.slices = 0;
    EXPECT_NE(refuses(bcast, request), nullptr);
    request.slices = 1;
    request.collective = Collective::kReduce;
    EXPECT_NE(refuses(bcast, request), nullptr);
}

// One rank's part alone, in time and memory of its own steps.
TEST(Table, ARankOfALargeWorldIsBuiltAlone) {
    Request request;
    request.size = 1 << 20;
    request.rank = 77;
    EXPECT_LE(find(Collective::kAllreduce, "recursive_doubling")->build(request).ops.size(), 70U);
    EXPECT_LE(find(Collective::kAllreduce, "rabenseifner")->build(request).ops.size(), 110U);
    EXPECT_LE(find(Collective::kAllreduce, "bruck")->build(request).ops.size(), 300U);
    request.size = 5000;
    EXPECT_EQ(find(Collective::kAllreduce, "ring")->build(request).ops.size(), 5U * 4999U);
}

}  // namespace
}  // namespace beeline::coll::plan
