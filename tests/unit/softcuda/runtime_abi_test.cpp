// SPDX-License-Identifier: BSD-3-Clause
// SoftCUDA's declarations of the CUDA runtime API are those of the toolkit's cuda_runtime_api.h.
#include <gtest/gtest.h>

#include "runtime_facts.hpp"

TEST(RuntimeApi, EqualsTheToolkitsHeader) {
    const ApiFacts ours = softcuda_runtime_facts();
    const ApiFacts theirs = toolkit_runtime_facts();
    ASSERT_GT(ours.size(), 250U);
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
        EXPECT_STREQ(ours[i].name, theirs[i].name);
        EXPECT_EQ(ours[i].value, theirs[i].value) << ours[i].name;
        EXPECT_STREQ(ours[i].type, theirs[i].type) << ours[i].name;
    }
}
