// SPDX-License-Identifier: BSD-3-Clause
// A schedule as text says all of it.
#include <gtest/gtest.h>

#include "coll/plan/allreduce.hpp"

namespace beeline::coll::plan {
namespace {

TEST(Print, TwoRanks) {
    EXPECT_EQ(print(build_allreduce_recursive_doubling(2, 1, 10, false)),
              "recursive_doubling rank 1 of 2, 10 elements, scratch 0, 3 ops\n"
              "   0 receive output[0..10) from 0 on 0\n"
              "   1 send input[0..10) to 0 on 0\n"
              "   2 reduce output[0..10) = output[0..10) (op) input[0..10) after 0\n");
}

TEST(Print, OneRankCopies) {
    EXPECT_EQ(print(build_allreduce_ring(1, 0, 3, false)),
              "ring rank 0 of 1, 3 elements, scratch 0, 1 ops\n"
              "   0 copy output[0..3) = input[0..3)\n");
    EXPECT_EQ(print(build_allreduce_ring(1, 0, 3, true)),
              "ring rank 0 of 1, 3 elements in place, scratch 0, 0 ops\n");
}

}  // namespace
}  // namespace beeline::coll::plan
