// SPDX-License-Identifier: BSD-3-Clause
// The handle caches: exported once, reopened when the memory changed, bounded, never closed in use.
#include "mover/cuda_ipc/handles.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "memory/copy.hpp"
#include "support/log_capture.hpp"
#include "tests/world/device_memory.hpp"
#include "unit/mover/cuda_ipc/exporter.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

using test::export_memory;
using test::Exported;
using test::free_exported;

constexpr std::uint64_t kPeer = 7;

class Handles : public testing::Test {
 protected:
    void SetUp() override {
        driver_ = cuda::Driver::find();
        ASSERT_NE(driver_, nullptr);
        ASSERT_EQ(driver_->cuCtxGetCurrent(&context_), CUDA_SUCCESS);
        calls_ = reinterpret_cast<unsigned long long (*)(const char*)>(
            world::software_entry("softcuda_calls"));
    }

    /// Calls of a driver function so far; always 0 with a driver that does not count.
    unsigned long long calls(const char* name) const {
        return calls_ != nullptr ? calls_(name) : 0;
    }
    bool counts() const { return calls_ != nullptr; }

    Result<Import*> acquire(ImportCache& cache, const Exported& memory) {
        return cache.acquire(*driver_, context_, kPeer, memory.base, memory.bytes, memory.buffer_id,
                             memory.handle);
    }

    /// The first byte of what is mapped.
    static unsigned char first_byte(const Import& import) {
        unsigned char byte = 0;
        EXPECT_EQ(memory::copy(&byte, reinterpret_cast<const void*>(import.mapped), 1),
                  Status::kOk);
        return byte;
    }

    const cuda::Driver* driver_ = nullptr;
    CUcontext context_ = nullptr;
    unsigned long long (*calls_)(const char*) = nullptr;
};

using Exports = Handles;
using Imports = Handles;

memory::Pointer allocate(const cuda::Driver& driver, std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver.cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    return memory::classify(reinterpret_cast<void*>(address));
}

TEST_F(Exports, OncePerBuffer) {
    ExportCache cache(4);
    const memory::Pointer memory = allocate(*driver_, 4096);
    const auto before = calls("cuIpcGetMemHandle");
    auto first = cache.handle_of(memory);
    ASSERT_TRUE(first.ok());
    for (int i = 0; i < 10; ++i) {
        // Any pointer into the allocation stands for it.
        auto again = cache.handle_of(memory::classify(
            reinterpret_cast<void*>(memory.base + static_cast<std::uint64_t>(i) * 100)));
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(std::memcmp(&*again, &*first, sizeof *first), 0);
    }
    if (counts()) {
        EXPECT_EQ(calls("cuIpcGetMemHandle") - before, 1U);
    }
    driver_->cuMemFree(memory.base);
}

TEST_F(Exports, AnewWhenTheAddressIsAnotherBuffer) {
    ExportCache cache(4);
    memory::Pointer memory = allocate(*driver_, 4096);
    auto first = cache.handle_of(memory);
    driver_->cuMemFree(memory.base);
    const memory::Pointer next = allocate(*driver_, 4096);
    if (next.base != memory.base) {
        GTEST_SKIP() << "the driver did not use the address again";
    }
    EXPECT_NE(next.buffer_id, memory.buffer_id);
    auto second = cache.handle_of(next);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE(std::memcmp(&*first, &*second, sizeof *first), 0);
    driver_->cuMemFree(next.base);
}

// Memory of a pool has no handle: the driver is asked once for each allocation.
TEST_F(Exports, WhatTheDriverRefusesIsNotAskedForAgain) {
    auto* allocate_from_pool = reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t, CUstream)>(
        world::software_entry("cuMemAllocAsync"));
    if (allocate_from_pool == nullptr) {
        GTEST_SKIP() << "the driver has no pools";
    }
    const test::LogCapture log(LogLevel::kWarning);
    ExportCache cache(4);
    CUdeviceptr address = 0;
    ASSERT_EQ(allocate_from_pool(&address, 4096, nullptr), CUDA_SUCCESS);
    const memory::Pointer memory = memory::classify(reinterpret_cast<void*>(address));
    const auto before = calls("cuIpcGetMemHandle");
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(cache.handle_of(memory).status(), Status::kDriver);
    }
    if (counts()) {
        EXPECT_EQ(calls("cuIpcGetMemHandle") - before, 1U);
    }
    cache.forget(memory.base);
    EXPECT_EQ(cache.entries(), 0U);
    driver_->cuMemFreeAsync(address, nullptr);
}

TEST_F(Exports, BoundedAndForgettable) {
    ExportCache cache(2);
    memory::Pointer memory[3];
    for (auto& one : memory) {
        one = allocate(*driver_, 4096);
        ASSERT_TRUE(cache.handle_of(one).ok());
    }
    auto before = calls("cuIpcGetMemHandle");
    const auto made = [&] {
        const auto now = calls("cuIpcGetMemHandle");
        return now - std::exchange(before, now);
    };
    if (counts()) {
        cache.handle_of(memory[2]);
        cache.handle_of(memory[1]);
        EXPECT_EQ(made(), 0U);
        cache.handle_of(memory[0]);  // pushed out by memory[2]; pushes out the same
        EXPECT_EQ(made(), 1U);
        cache.handle_of(memory[1]);
        EXPECT_EQ(made(), 0U);
        cache.handle_of(memory[2]);
        EXPECT_EQ(made(), 1U);
        cache.forget(memory[2].base);
        cache.handle_of(memory[2]);
        EXPECT_EQ(made(), 1U);
    }
    for (const auto& one : memory) {
        driver_->cuMemFree(one.base);
    }
}

TEST_F(Imports, OpenedOncePerBuffer) {
    ImportCache cache(4);
    const Exported memory = export_memory(1 << 16, 0x11);
    const auto before = calls("cuIpcOpenMemHandle");
    for (int i = 0; i < 5; ++i) {
        auto import = acquire(cache, memory);
        ASSERT_TRUE(import.ok());
        EXPECT_EQ(first_byte(**import), 0x11);
        cache.release(*import);
    }
    EXPECT_EQ(cache.hits(), 4U);
    EXPECT_EQ(cache.misses(), 1U);
    EXPECT_EQ(cache.open_handles(), 1U);
    if (counts()) {
        EXPECT_EQ(calls("cuIpcOpenMemHandle") - before, 1U);
    }
    cache.clear();
    EXPECT_EQ(cache.open_handles(), 0U);
    free_exported(memory);
}

// A peer says how much it has exported; the driver knows.
TEST_F(Imports, AMappingSmallerThanThePeerSaysIsRefused) {
    const test::LogCapture log(LogLevel::kWarning);
    ImportCache cache(4);
    const Exported memory = export_memory(1 << 16, 0x11);
    Exported claimed = memory;
    claimed.bytes = std::uint64_t{1} << 40;
    EXPECT_EQ(acquire(cache, claimed).status(), Status::kDriver);
    EXPECT_EQ(cache.last_error(), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cache.open_handles(), 0U);
    auto import = acquire(cache, memory);  // the mapping was closed
    ASSERT_TRUE(import.ok());
    EXPECT_EQ(first_byte(**import), 0x11);
    cache.release(*import);
    cache.clear();
    free_exported(memory);
}

TEST_F(Imports, OverlappingOlderBufferIsClosedFirst) {
    ImportCache cache(16);
    for (int round = 0; round < 20; ++round) {
        const auto value = static_cast<unsigned char>(round + 1);
        const Exported memory = export_memory(1 << 16, value);
        auto import = acquire(cache, memory);
        ASSERT_TRUE(import.ok());
        EXPECT_EQ(first_byte(**import), value) << "old data under a new buffer's name";
        cache.release(*import);
        cache.clear();
        free_exported(memory);
    }
    // Without closing in between: the address comes back under another buffer id.
    std::uint64_t base = 0;
    int reused = 0;
    for (int round = 0; round < 20; ++round) {
        const auto value = static_cast<unsigned char>(round + 1);
        const Exported memory = export_memory(1 << 16, value);
        reused += memory.base == base ? 1 : 0;
        base = memory.base;
        auto import = acquire(cache, memory);
        ASSERT_TRUE(import.ok());
        EXPECT_EQ(first_byte(**import), value) << "old data under a new buffer's name";
        cache.release(*import);
        free_exported(memory);
    }
    EXPECT_LE(cache.open_handles(), static_cast<std::size_t>(20 - reused));
}

TEST_F(Imports, BoundedLeastRecentlyUsedFirstOut) {
    ImportCache cache(2);
    Exported memory[3];
    for (unsigned i = 0; i < 3; ++i) {
        memory[i] = export_memory(1 << 16, static_cast<unsigned char>(i));
    }
    const auto touch = [&](unsigned i) {
        auto import = acquire(cache, memory[i]);
        ASSERT_TRUE(import.ok());
        EXPECT_EQ(first_byte(**import), i);
        cache.release(*import);
        EXPECT_LE(cache.open_handles(), 2U);
    };
    touch(0);
    touch(1);
    touch(0);
    touch(2);  // pushes out 1
    EXPECT_EQ(cache.misses(), 3U);
    touch(0);
    EXPECT_EQ(cache.misses(), 3U);
    touch(1);
    EXPECT_EQ(cache.misses(), 4U);
    cache.clear();
    for (const Exported& one : memory) {
        free_exported(one);
    }
}

TEST_F(Imports, InUseIsNeverClosed) {
    ImportCache cache(1);
    const Exported first = export_memory(1 << 16, 0x21);
    const Exported second = export_memory(1 << 16, 0x22);
    auto held = acquire(cache, first);
    ASSERT_TRUE(held.ok());
    auto other = acquire(cache, second);  // over the bound: the first may not go
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(cache.open_handles(), 2U);
    EXPECT_EQ(first_byte(**held), 0x21);
    cache.clear();
    EXPECT_EQ(cache.open_handles(), 2U);
    EXPECT_EQ(first_byte(**held), 0x21);
    EXPECT_EQ(first_byte(**other), 0x22);
    cache.release(*held);
    cache.release(*other);
    cache.clear();
    EXPECT_EQ(cache.open_handles(), 0U);
    free_exported(first);
    free_exported(second);
}

TEST_F(Imports, StaleOneInUseIsClosedByItsLastUser) {
    ImportCache cache(8);
    const Exported memory = export_memory(1 << 16, 0x31);
    auto one = acquire(cache, memory);
    auto two = acquire(cache, memory);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_EQ(*one, *two);
    Exported newer = memory;
    newer.buffer_id += 1000;  // as if the address had been allocated anew
    newer.handle.reserved[0] = static_cast<char>(newer.handle.reserved[0] ^ 0x55);
    EXPECT_FALSE(acquire(cache, newer).ok());
    EXPECT_EQ(cache.open_handles(), 1U);
    EXPECT_EQ(first_byte(**one), 0x31);
    cache.release(*one);
    EXPECT_EQ(cache.open_handles(), 1U);
    EXPECT_EQ(first_byte(**two), 0x31);
    cache.release(*two);
    EXPECT_EQ(cache.open_handles(), 0U);
    free_exported(memory);
}

TEST_F(Imports, EqualAddressesOfOtherPeersAreOtherMemory) {
    ImportCache cache(8);
    const Exported memory = export_memory(1 << 16, 0x41);
    auto import = acquire(cache, memory);
    ASSERT_TRUE(import.ok());
    auto foreign = cache.acquire(*driver_, context_, kPeer + 1, memory.base, memory.bytes,
                                 memory.buffer_id + 1, memory.handle);
    EXPECT_TRUE(foreign.ok());
    EXPECT_FALSE((*import)->stale);
    cache.release(*import);
    if (foreign) {
        cache.release(*foreign);
    }
    cache.clear();
    free_exported(memory);
}

}  // namespace
}  // namespace beeline::mover::cuda_ipc
