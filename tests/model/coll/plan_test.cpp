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
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& instance) {
                             return std::string(to_string(instance.param->collective)) + '_' +
                                    instance.param->name;
                         });

}  // namespace
}  // namespace beeline::coll::plan
