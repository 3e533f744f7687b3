// SPDX-License-Identifier: BSD-3-Clause
// Verdicts on pairs: refused at once when it is the pair, after a few tries when it may be the
// memory, and for that pair and kind alone.
#include "mover/cuda_ipc/verdicts.hpp"

#include <gtest/gtest.h>

namespace beeline::mover::cuda_ipc {
namespace {

Pair pair_number(std::uint64_t peer) {
    return {peer, {}, 0, HandleKind::kLegacy};
}

TEST(Verdicts, WhatSaysSomethingOfThePairRefusesItAtOnce) {
    Verdicts verdicts;
    EXPECT_TRUE(verdicts.allows(pair_number(1)));
    verdicts.failed(pair_number(1), "opening", CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    EXPECT_FALSE(verdicts.allows(pair_number(1)));
    EXPECT_TRUE(verdicts.allows(pair_number(2)));
    Pair other = pair_number(1);
    other.kind = HandleKind::kVmm;
    EXPECT_TRUE(verdicts.allows(other));
    other = pair_number(1);
    other.to = 1;
    EXPECT_TRUE(verdicts.allows(other));
    other = pair_number(1);
    other.from[3] = std::byte{9};
    EXPECT_TRUE(verdicts.allows(other));
    ASSERT_EQ(verdicts.all().size(), 1U);
    EXPECT_EQ(verdicts.all()[0].reason, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    EXPECT_STREQ(verdicts.all()[0].step, "opening");
}

TEST(Verdicts, WhatMayBeTheMemoryIsTriedAgain) {
    Verdicts verdicts;
    for (int round = 0; round < 5; ++round) {
        for (int failure = 0; failure < 2; ++failure) {
            verdicts.failed(pair_number(1), "opening", CUDA_ERROR_INVALID_VALUE);
            EXPECT_TRUE(verdicts.allows(pair_number(1)));
        }
        verdicts.succeeded(pair_number(1));
    }
    for (int failure = 0; failure < 3; ++failure) {
        EXPECT_TRUE(verdicts.allows(pair_number(1)));
        verdicts.failed(pair_number(1), "opening", CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_FALSE(verdicts.allows(pair_number(1)));
}

TEST(Verdicts, WhatHasWorkedIsNotRefusedByOneError) {
    Verdicts verdicts;
    verdicts.succeeded(pair_number(1));
    verdicts.failed(pair_number(1), "opening", CUDA_ERROR_UNKNOWN);
    EXPECT_TRUE(verdicts.allows(pair_number(1)));
}

}  // namespace
}  // namespace beeline::mover::cuda_ipc
