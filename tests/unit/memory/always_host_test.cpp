// SPDX-License-Identifier: BSD-3-Clause
// Which memory needs no question to the driver: only what can never be a device's.
#include "memory/always_host.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace beeline::memory {
namespace {

int written_data = 1;
int zeroed_data[1000];

TEST(AlwaysHost, OwnStackAndData) {
    int local = 0;
    EXPECT_TRUE(always_host(&local));
    EXPECT_TRUE(always_host(&written_data));
    EXPECT_TRUE(always_host(&zeroed_data[999]));
}

TEST(AlwaysHost, HeapBelowTheBreakOnly) {
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    GTEST_SKIP() << "its allocator keeps away from the program break";
#endif
    auto* end = static_cast<unsigned char*>(sbrk(0));
    ASSERT_NE(end, reinterpret_cast<unsigned char*>(UINTPTR_MAX));
    ASSERT_TRUE(always_host(end - 1)) << "a program that allocates has a heap";
    EXPECT_FALSE(always_host(end));
    EXPECT_FALSE(always_host(end + 4096));
    // What was heap once is nothing afterwards.
    ASSERT_NE(sbrk(1 << 16), reinterpret_cast<void*>(-1));
    EXPECT_TRUE(always_host(end));
    if (sbrk(0) == end + (1 << 16)) {  // nobody else has moved it
        sbrk(-(1 << 16));
        EXPECT_FALSE(always_host(end));
    }
}

TEST(AlwaysHost, NothingThatIsMapped) {
    void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    EXPECT_FALSE(always_host(mapped));
    munmap(mapped, 4096);
    EXPECT_FALSE(always_host(nullptr));
    EXPECT_FALSE(always_host(reinterpret_cast<void*>(UINTPTR_MAX)));
}

TEST(AlwaysHost, EachThreadItsOwnStack) {
    int mine = 0;
    bool own = false;
    bool others = true;
    int* theirs = nullptr;
    bool seen_from_here = true;
    std::thread([&] {
        int local = 0;
        theirs = &local;
        own = always_host(&local);
        others = always_host(&mine);
    }).join();
    seen_from_here = always_host(theirs);
    EXPECT_TRUE(own);
    EXPECT_FALSE(others) << "a thread's stack may go while another looks";
    EXPECT_FALSE(seen_from_here);
}

}  // namespace
}  // namespace beeline::memory
