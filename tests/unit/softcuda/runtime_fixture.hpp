// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the software CUDA runtime share.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

inline constexpr size_t kBytes = 10000;

/// Leaves no error, no device choice and no context behind for the next test.
class Runtime : public ::testing::Test {
 protected:
    void TearDown() override {
        static_cast<void>(cudaSetDevice(0));
        static_cast<void>(cudaDeviceReset());
        static_cast<void>(cudaGetLastError());
    }

    void* allocate(size_t bytes = kBytes) {
        void* memory = nullptr;
        EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
        return memory;
    }
};
