// SPDX-License-Identifier: BSD-3-Clause
// Memory of kept messages is used again, and bounded.
#include "engine/message_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using beeline::engine::MessagePool;

TEST(MessagePool, UsesBlocksOfASizeAgain) {
    MessagePool pool;
    void* first = pool.take(8000);
    pool.give_back(first);
    EXPECT_GE(pool.kept(), 8000u);
    EXPECT_EQ(pool.take(7000), first);
    EXPECT_EQ(pool.kept(), 0u);
    pool.give_back(first);
}

TEST(MessagePool, HoldsEverySizeWhole) {
    MessagePool pool;
    std::vector<std::pair<unsigned char*, std::size_t>> taken;
    for (std::size_t bytes :
         {0ul, 1ul, 495ul, 496ul, 497ul, 1008ul, 1009ul, 65536ul, 262128ul, 262144ul, 1ul << 20}) {
        for (std::size_t off : {0ul, 1ul}) {
            auto* block = static_cast<unsigned char*>(pool.take(bytes + off));
            ASSERT_NE(block, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0u);
            std::memset(block, static_cast<int>(taken.size() + 1), bytes + off);
            taken.emplace_back(block, bytes + off);
        }
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        for (std::size_t at = 0; at < taken[i].second; ++at) {
            ASSERT_EQ(taken[i].first[at], i + 1);
        }
    }
    for (auto& [block, bytes] : taken) {
        pool.give_back(block);
    }
}

TEST(MessagePool, KeepsNoMoreThanItsBound) {
    MessagePool pool;
    std::vector<void*> taken;
    for (int i = 0; i < 2000; ++i) {
        taken.push_back(pool.take(16000));
    }
    for (void* block : taken) {
        pool.give_back(block);
        EXPECT_LE(pool.kept(), MessagePool::kMostKept);
    }
    EXPECT_GT(pool.kept(), MessagePool::kMostKept / 2);
    EXPECT_EQ(pool.take(SIZE_MAX - 4), nullptr);
}

}  // namespace
