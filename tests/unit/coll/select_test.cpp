// SPDX-License-Identifier: BSD-3-Clause
// The choice of a schedule: by size, by parameter, by what the kernels can do.
#include <gtest/gtest.h>

#include <cstring>

#include "coll/select/select.hpp"

namespace beeline::coll::select {
namespace {

using kernel::Op;
using kernel::Type;

config::Params with(const char* algorithm) {
    config::Params params;
    for (const config::Row& row : config::rows()) {
        if (std::strcmp(row.component, "coll") == 0 &&
            std::strcmp(row.name, "allreduce_algorithm") == 0) {
            EXPECT_EQ(config::set(params, row, algorithm), Status::kOk);
        }
    }
    return params;
}

TEST(Select, LengthDecides) {
    config::Params params;
    params.coll_allreduce_ring_min = 4096;
    EXPECT_EQ(choose({4, 1023, Type::kF32, Op::kSum}, params).algorithm,
              Algorithm::kRecursiveDoubling);
    EXPECT_EQ(choose({4, 1024, Type::kF32, Op::kSum}, params).algorithm, Algorithm::kRing);
    EXPECT_EQ(choose({2, 1024, Type::kF32, Op::kSum}, params).algorithm, Algorithm::kRing);
    EXPECT_EQ(choose({1, 1023, Type::kF64, Op::kSum}, params).algorithm, Algorithm::kRing);
}

TEST(Select, FewerElementsThanRanksNeverTakeTheRingByThemselves) {
    config::Params params;
    params.coll_allreduce_ring_min = 0;
    EXPECT_EQ(choose({4, 3, Type::kF32, Op::kSum}, params).algorithm,
              Algorithm::kRecursiveDoubling);
    EXPECT_EQ(choose({4, 4, Type::kF32, Op::kSum}, params).algorithm, Algorithm::kRing);
}

TEST(Select, TheParameterDecides) {
    // Also shows that the words in params.def are in the order this folder takes them to be.
    const AllreduceFacts facts{4, 1 << 20, Type::kF64, Op::kSum};
    EXPECT_EQ(choose(facts, with("auto")).algorithm, Algorithm::kRing);
    EXPECT_EQ(choose(facts, with("ring")).algorithm, Algorithm::kRing);
    EXPECT_EQ(choose(facts, with("recursive_doubling")).algorithm, Algorithm::kRecursiveDoubling);
    EXPECT_EQ(choose(facts, with("staged")).algorithm, Algorithm::kStaged);
    EXPECT_STRNE(choose(facts, with("ring")).reason, "");
}

TEST(Select, WithoutAKernelItIsStaged) {
    EXPECT_EQ(choose({4, 10, Type::kF32, Op::kBand}, with("ring")).algorithm, Algorithm::kStaged);
}

}  // namespace
}  // namespace beeline::coll::select
