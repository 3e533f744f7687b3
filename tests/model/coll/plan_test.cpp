// SPDX-License-Identifier: BSD-3-Clause
// Every schedule is an allreduce, for every number of ranks up to 64, and costs what its
// description says.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "coll/pattern/chunks.hpp"
#include "coll/pattern/doubling.hpp"
#include "coll/plan/validate.hpp"
#include "tests/model/coll/builders.hpp"
#include "tests/support/uniform.hpp"

namespace beeline::coll::plan {
namespace {

class Worlds : public testing::TestWithParam<Builder> {};

TEST_P(Worlds, AreCorrectForEverySize) {
    for (int size = 1; size <= 64; ++size) {
        const auto p = static_cast<std::size_t>(size);
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, 3 * p + 1}) {
            for (const InPlace in_place : {InPlace::kNobody, InPlace::kAll, InPlace::kOdd}) {
                if (size > 24 && (in_place == InPlace::kOdd || count == p)) {
                    continue;  // enough of the small ones
                }
                const Verdict verdict = validate(build_world(GetParam(), size, count, in_place));
                ASSERT_TRUE(verdict.ok()) << size << " ranks, " << count << ": " << verdict.problem;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Worlds,
                         testing::Values(Builder::kRing, Builder::kSlicedRing,
                                         Builder::kRecursiveDoubling));

TEST(Worlds, SlicesMayBeMany) {
    for (const std::size_t slice : {1U, 2U, 7U, 100U}) {
        for (const bool in_place : {true, false}) {
            std::vector<Schedule> world;
            for (int rank = 0; rank < 5; ++rank) {
                world.push_back(build_allreduce_ring(5, rank, 83, in_place, slice));
            }
            EXPECT_EQ(validate(world).problem, "");
        }
    }
}

TEST(Worlds, AreCorrectForRandomShapes) {
    const bool holds = rc::check("a random world is an allreduce", [] {
        const int size = *test::uniform(1, 40);
        const auto count = *test::uniform<std::size_t>(0, 300);
        const auto slice = *test::uniform<std::size_t>(0, 20);
        const bool ring = *rc::gen::arbitrary<bool>();
        std::vector<Schedule> world;
        for (int rank = 0; rank < size; ++rank) {
            const bool in_place = *rc::gen::arbitrary<bool>();
            world.push_back(ring ? build_allreduce_ring(size, rank, count, in_place, slice)
                                 : build_allreduce_recursive_doubling(size, rank, count, in_place));
        }
        RC_ASSERT(validate(world).problem == "");
    });
    EXPECT_TRUE(holds);
}

TEST(Worlds, AreCorrectWhenLarge) {
    for (const int size : {127, 128}) {
        const auto count = static_cast<std::size_t>(size) + 5;
        EXPECT_EQ(validate(build_world(Builder::kRing, size, count, InPlace::kNobody)).problem, "");
        EXPECT_EQ(
            validate(build_world(Builder::kRecursiveDoubling, size, 3, InPlace::kAll)).problem, "");
    }
}

std::size_t elements_sent(const Schedule& schedule) {
    std::size_t elements = 0;
    for (const Op& op : schedule.ops) {
        elements += op.kind == OpKind::kSend ? op.count : 0;
    }
    return elements;
}

std::size_t ops_of(const Schedule& schedule, OpKind kind) {
    std::size_t number = 0;
    for (const Op& op : schedule.ops) {
        number += op.kind == kind ? 1 : 0;
    }
    return number;
}

TEST(Cost, TheRingSendsTheFewestBytes) {
    for (int size = 2; size <= 40; ++size) {
        const std::size_t chunk = 100;
        const std::size_t count = chunk * static_cast<std::size_t>(size);
        const auto steps = static_cast<std::size_t>(size - 1);
        for (const bool in_place : {true, false}) {
            const Schedule schedule = build_allreduce_ring(size, size / 2, count, in_place);
            EXPECT_EQ(elements_sent(schedule), 2 * steps * chunk);
            EXPECT_EQ(ops_of(schedule, OpKind::kSend), 2 * steps);
            EXPECT_EQ(ops_of(schedule, OpKind::kReceive), 2 * steps);
            EXPECT_EQ(ops_of(schedule, OpKind::kReduce), steps);
            EXPECT_EQ(ops_of(schedule, OpKind::kCopy), 0U);
            EXPECT_EQ(schedule.scratch, in_place ? 2 * chunk : 0);
        }
    }
}

TEST(Cost, RecursiveDoublingTakesTheFewestSteps) {
    for (int size = 2; size <= 40; ++size) {
        for (int rank = 0; rank < size; ++rank) {
            const Schedule schedule = build_allreduce_recursive_doubling(size, rank, 10, false);
            const auto steps = static_cast<std::size_t>(pattern::doubling_steps(size));
            const std::size_t folds = pattern::folds_neighbour(size, rank) ? 1 : 0;
            const bool folded = pattern::folded(size, rank);
            EXPECT_EQ(ops_of(schedule, OpKind::kSend), folded ? 1 : steps + folds);
            EXPECT_EQ(ops_of(schedule, OpKind::kReduce), folded ? 0 : steps + folds);
            EXPECT_EQ(ops_of(schedule, OpKind::kCopy), 0U);
            EXPECT_LE(schedule.scratch, 20U);
        }
    }
}

TEST(Cost, ARankOfALargeWorldIsBuiltAlone) {
    const Schedule ring = build_allreduce_ring(5000, 77, 5000, false);
    EXPECT_EQ(ring.ops.size(), 5U * 4999U);
    EXPECT_LE(build_allreduce_recursive_doubling(1 << 20, 77, 5, false).ops.size(), 60U);
}

}  // namespace
}  // namespace beeline::coll::plan
