// SPDX-License-Identifier: BSD-3-Clause
// The main program of the GoogleTest binaries: random properties start from a fixed seed.
#include <cstdlib>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    setenv("RC_PARAMS", "seed=20240229 max_success=300",
           0);  // RC_PARAMS from outside wins, to explore
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
