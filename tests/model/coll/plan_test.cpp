// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm does what its collective says, and costs what it says itself.
#include <gtest/gtest.h>

#include "coll/plan/prove.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::plan {
namespace {

class Algorithms : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Algorithms, AreProvedForSmallWorlds) {
    Extent extent;
    extent.every_size = 24;
    extent.every_root = 9;
    extent.random_sizes = 1;
    extent.largest = 300;
    extent.work = 200'000;
    const Tally tally = prove(*GetParam(), extent);
    EXPECT_EQ(tally.problem, "");
    EXPECT_GT(tally.worlds, 8U);
    // Scratch is bounded whatever the number of ranks; only those that take everything at once need
    // more, and they are for short vectors.
    const std::string name = GetParam()->name;
    const bool takes_all =
        name == "one_shot" || (name == "linear" && reduces(GetParam()->collective));
    EXPECT_LE(tally.scratch, takes_all ? tally.largest - 1 : 3);
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& instance) { return name_of(instance); });

}  // namespace
}  // namespace beeline::coll::plan
