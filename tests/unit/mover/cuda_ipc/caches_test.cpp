// SPDX-License-Identifier: BSD-3-Clause
// The handle caches when memory goes away: frees noticed without hooks, peers told once, mappings
// closed, bytes bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cuda/context.hpp"
#include "memory/copy.hpp"
#include "mover/cuda_ipc/handles.hpp"
#include "unit/mover/cuda_ipc/exporter.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

using test::export_memory;
using test::Exported;
using test::free_exported;

constexpr std::uint64_t kPeer = 7;

class Caches : public testing::Test {
 protected:
    void SetUp() override {
        driver_ = cuda::Driver::find();
        ASSERT_NE(driver_, nullptr);
        ASSERT_EQ(driver_->cuCtxGetCurrent(&context_), CUDA_SUCCESS);
    }
    memory::Pointer allocate(std::size_t bytes) {
        CUdeviceptr address = 0;
        EXPECT_EQ(driver_->cuMemAlloc(&address, bytes), CUDA_SUCCESS);
        return memory::classify(reinterpret_cast<void*>(address));
    }
    void free(const memory::Pointer& memory) { driver_->cuMemFree(memory.base); }
    Import* open(ImportCache& cache, const Exported& memory) {
        auto import = cache.acquire(*driver_, context_, kPeer, memory.base, memory.bytes,
                                    memory.buffer_id, memory.handle);
        EXPECT_TRUE(import.ok());
        return import ? *import : nullptr;
    }

    const cuda::Driver* driver_ = nullptr;
    CUcontext context_ = nullptr;
};

/// The notices so far, as "peer:buffer id", taken away.
std::vector<std::pair<std::uint64_t, std::uint64_t>> taken(ExportCache& cache) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
    for (const auto& notice : cache.notices()) {
        told.emplace_back(notice.peer, notice.buffer_id);
    }
    cache.notices().clear();
    std::sort(told.begin(), told.end());
    return told;
}

using Told = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_F(Caches, AFreeIsNoticedWhenAnotherBufferIsExported) {
    ExportCache cache(16);
    const memory::Pointer first = allocate(4 << 20);
    ASSERT_TRUE(cache.handle_of(first, 1).ok());
    ASSERT_TRUE(cache.handle_of(first, 2).ok());
    ASSERT_TRUE(cache.handle_of(first, 2).ok());
    ASSERT_TRUE(cache.handle_of(first).ok());
    EXPECT_TRUE(taken(cache).empty());
    free(first);
    const memory::Pointer second = allocate(8 << 20);
    ASSERT_TRUE(cache.handle_of(second, 3).ok());
    EXPECT_EQ(taken(cache), (Told{{1, first.buffer_id}, {2, first.buffer_id}}));
    EXPECT_EQ(cache.freed(), 1U);
    EXPECT_EQ(cache.entries(), 1U);
    free(second);
    cache.recheck(1);
    EXPECT_EQ(taken(cache), (Told{{3, second.buffer_id}}));
    EXPECT_EQ(cache.entries(), 0U);
    cache.recheck(1);
    EXPECT_TRUE(taken(cache).empty()) << "once is enough";
}

TEST_F(Caches, TheSameAddressAnewIsNoticedAtOnce) {
    ExportCache cache(16);
    const memory::Pointer first = allocate(4 << 20);
    ASSERT_TRUE(cache.handle_of(first, 1).ok());
    free(first);
    const memory::Pointer second = allocate(4 << 20);
    if (second.base != first.base) {
        GTEST_SKIP() << "the driver did not use the address again";
    }
    ASSERT_TRUE(cache.handle_of(second, 1).ok());
    EXPECT_EQ(taken(cache), (Told{{1, first.buffer_id}}));
    free(second);
}

TEST_F(Caches, WhatIsPushedOutIsToldToo) {
    ExportCache cache(2);
    memory::Pointer memory[3];
    for (auto& one : memory) {
        one = allocate(4096);
        ASSERT_TRUE(cache.handle_of(one, 1).ok());
    }
    EXPECT_EQ(taken(cache), (Told{{1, memory[0].buffer_id}}));
    EXPECT_EQ(cache.entries(), 2U);
    for (const auto& one : memory) {
        free(one);
    }
}

TEST_F(Caches, RechecksComeRoundToEveryEntry) {
    ExportCache cache(64);
    std::vector<memory::Pointer> memory;
    for (int i = 0; i < 20; ++i) {
        memory.push_back(allocate(4096));
        ASSERT_TRUE(cache.handle_of(memory.back(), 1).ok());
    }
    for (const auto& one : memory) {
        free(one);
    }
    for (int i = 0; i < 20; ++i) {
        cache.recheck(1);
    }
    EXPECT_EQ(cache.entries(), 0U);
    EXPECT_EQ(taken(cache).size(), 20U);
}

TEST_F(Caches, FreedMappingsAreClosedIdleOnesAtOnce) {
    ImportCache cache(8);
    const Exported memory = export_memory(1 << 16, 0x51);
    Import* import = open(cache, memory);
    cache.release(import);
    cache.freed(kPeer + 1, memory.base, memory.buffer_id);
    cache.freed(kPeer, memory.base, memory.buffer_id + 1);
    cache.freed(kPeer, memory.base + 512, memory.buffer_id);
    EXPECT_EQ(cache.open_handles(), 1U) << "other memory";
    cache.freed(kPeer, memory.base, memory.buffer_id);
    EXPECT_EQ(cache.open_handles(), 0U);
    EXPECT_EQ(cache.told(), 1U);
    import = open(cache, memory);
    cache.freed(kPeer, memory.base, memory.buffer_id);
    EXPECT_EQ(cache.open_handles(), 1U) << "in use";
    unsigned char byte = 0;
    EXPECT_EQ(memory::copy(&byte, reinterpret_cast<const void*>(import->mapped), 1), Status::kOk);
    EXPECT_EQ(byte, 0x51);
    cache.release(import);
    EXPECT_EQ(cache.open_handles(), 0U);
    free_exported(memory);
}

TEST_F(Caches, BytesAreBoundedButForWhatIsInUse) {
    ImportCache cache(100, 5 << 16);
    Exported memory[8];
    for (unsigned i = 0; i < 8; ++i) {
        memory[i] = export_memory(1 << 16, static_cast<unsigned char>(i));
        cache.release(open(cache, memory[i]));
        EXPECT_LE(cache.mapped_bytes(), std::uint64_t{5 << 16});
    }
    EXPECT_EQ(cache.open_handles(), 5U);
    EXPECT_EQ(cache.evicted(), 3U);
    std::vector<Import*> held;
    for (const Exported& one : memory) {
        held.push_back(open(cache, one));
    }
    EXPECT_EQ(cache.open_handles(), 8U) << "nothing in use is closed";
    for (Import* import : held) {
        cache.release(import);
    }
    EXPECT_EQ(cache.open_handles(), 5U);
    EXPECT_EQ(cache.mapped_bytes(), std::uint64_t{5 << 16});
    const Exported large = export_memory(16 << 16, 0x61);
    Import* import = open(cache, large);
    EXPECT_EQ(cache.open_handles(), 1U) << "larger than the bound: alone";
    cache.release(import);
    cache.clear();
    EXPECT_EQ(cache.mapped_bytes(), 0U);
    free_exported(large);
    for (const Exported& one : memory) {
        free_exported(one);
    }
}

TEST_F(Caches, TenThousandBuffersLeaveNothing) {
    ImportCache cache(16);
    for (int i = 0; i < 10000; ++i) {
        Exported memory = export_memory(512, static_cast<unsigned char>(i));
        cache.release(open(cache, memory));
        cache.freed(kPeer, memory.base, memory.buffer_id);
        free_exported(memory);
        ASSERT_LE(cache.open_handles(), 16U);
    }
    EXPECT_EQ(cache.open_handles(), 0U);
    EXPECT_EQ(cache.mapped_bytes(), 0U);
}

}  // namespace
}  // namespace beeline::mover::cuda_ipc
