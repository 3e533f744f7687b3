// SPDX-License-Identifier: BSD-3-Clause
// Beeline's declarations of the CUDA driver API are those of the toolkit's cuda.h.
#include <gtest/gtest.h>

#include "api_facts.hpp"

TEST(DriverApi, EqualsTheToolkitsHeader) {
    const ApiFacts ours = beeline_api_facts();
    const ApiFacts theirs = toolkit_api_facts();
    ASSERT_GT(ours.size(), 500U);
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
        EXPECT_STREQ(ours[i].name, theirs[i].name);
        EXPECT_EQ(ours[i].value, theirs[i].value) << ours[i].name;
        EXPECT_STREQ(ours[i].type, theirs[i].type) << ours[i].name;
    }
}
