// SPDX-License-Identifier: BSD-3-Clause
// From timings to the rules of a tuning file.
#include <gtest/gtest.h>

#include "coll/select/tuning.hpp"
#include "tools/beeline-tune/rules.hpp"

namespace beeline::tune {
namespace {

Measured at(std::size_t bytes, std::vector<Timing> timings) {
    return {bytes, std::move(timings)};
}

std::vector<std::string> names(const std::vector<Measured>& sizes) {
    std::vector<std::string> list;
    for (const Timing& winner : winners(sizes, 0.04)) {
        list.push_back(winner.name);
    }
    return list;
}

TEST(Winners, TheFastestWins) {
    EXPECT_EQ(names({at(1024, {{"staged", 1, 20}, {"ring", 1, 10}, {"bruck", 1, 15}})}),
              std::vector<std::string>{"ring"});
}

TEST(Winners, HostCopiesStayWhereAScheduleGainsLittle) {
    EXPECT_EQ(names({at(1024, {{"staged", 1, 103}, {"ring", 1, 100}})}),
              std::vector<std::string>{"staged"});
    EXPECT_EQ(names({at(1024, {{"staged", 1, 105}, {"ring", 1, 100}})}),
              std::vector<std::string>{"ring"});
    // Some tenths of a microsecond are within what a clock tells.
    EXPECT_EQ(names({at(8, {{"staged", 1, 1.25}, {"ring", 1, 1}})}),
              std::vector<std::string>{"staged"});
}

TEST(Winners, TheWinnerBeforeStaysWhereAnotherGainsLittle) {
    EXPECT_EQ(names({at(1024, {{"staged", 1, 500}, {"ring", 1, 90}, {"bruck", 1, 100}}),
                     at(8192, {{"staged", 1, 500}, {"ring", 1, 103}, {"bruck", 1, 100}}),
                     at(65536, {{"staged", 1, 500}, {"ring", 1, 110}, {"bruck", 1, 100}})}),
              (std::vector<std::string>{"ring", "ring", "bruck"}));
}

TEST(Rules, AreReadBackAndDecideBetweenTheSizes) {
    const std::string text =
        "beeline-tuning 1\n" + rules({"allreduce", 2, 3, 1},
                                     {at(1024, {{"staged", 1, 10}, {"ring", 1, 50}}),
                                      at(4096, {{"staged", 1, 50}, {"ring", 4, 10}}),
                                      at(65536, {{"staged", 1, 90}, {"ring", 4, 10}})},
                                     0.04);
    EXPECT_EQ(text,
              "beeline-tuning 1\n"
              "rule collective=allreduce ranks=2-3 nodes=1 bytes=0-2048 algorithm=staged\n"
              "rule collective=allreduce ranks=2-3 nodes=1 bytes=2049- algorithm=ring slices=4\n");
    coll::select::Tuning tuning;
    EXPECT_EQ(coll::select::parse(text, "made", tuning), "");
    ASSERT_EQ(tuning.rules.size(), 2U);
    EXPECT_EQ(tuning.rules[0].algorithm, nullptr);
    EXPECT_EQ(tuning.rules[1].slices, 4);
    EXPECT_TRUE(tuning.rules[1].bytes.has(std::uint64_t{1} << 40));
}

}  // namespace
}  // namespace beeline::tune
