// SPDX-License-Identifier: BSD-3-Clause
// Copies between all kinds of memory, packed and in the background, across a device reset; and the
// pool of staging chunks.
#include "memory/copy.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "memory/staging_pool.hpp"
#include "support/log_capture.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::memory {
namespace {

using Bytes = std::vector<unsigned char>;
using world::Buffer;

constexpr Kind kKinds[] = {Kind::kHost, Kind::kPinned, Kind::kManaged, Kind::kDevice};

const cuda::Driver& driver() {
    return *cuda::Driver::find();
}

Bytes pattern(std::size_t bytes, unsigned seed) {
    Bytes data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<unsigned char>(i * 7 + seed);
    }
    return data;
}

Status finish(AsyncCopy& copy) {
    Status status = Status::kRetry;
    while (status == Status::kRetry) {
        std::this_thread::yield();
        status = copy.poll();
    }
    return status;
}

TEST(Copy, EveryKindToEveryKind) {
    for (const Kind from : kKinds) {
        for (const Kind to : kKinds) {
            for (const std::size_t bytes : {1U, 100U, 70001U}) {
                Buffer source(driver(), from, bytes, 3);
                Buffer destination(driver(), to, bytes, 5);
                const Bytes data = pattern(bytes, 1);
                source.write(data);
                ASSERT_EQ(copy(destination.data(), source.data(), bytes), Status::kOk);
                EXPECT_EQ(destination.read(), data) << to_string(from) << " " << to_string(to);
                EXPECT_TRUE(destination.margins_untouched());
            }
        }
    }
    EXPECT_EQ(copy(nullptr, nullptr, 0), Status::kOk);
}

TEST(Copy, InTheBackground) {
    for (const Kind from : kKinds) {
        for (const Kind to : kKinds) {
            constexpr std::size_t kBytes = 50001;
            Buffer source(driver(), from, kBytes, 1);
            Buffer destination(driver(), to, kBytes, 2);
            const Bytes data = pattern(kBytes, 9);
            source.write(data);
            auto started = AsyncCopy::start(destination.data(), classify(destination.data()),
                                            source.data(), classify(source.data()), kBytes);
            ASSERT_TRUE(started.ok());
            EXPECT_EQ(finish(*started), Status::kOk);
            EXPECT_EQ(started->poll(), Status::kOk) << "and stays done";
            EXPECT_EQ(destination.read(), data);
            EXPECT_TRUE(destination.margins_untouched());
        }
    }
}

TEST(Copy, BackgroundCopiesMoveAndDrop) {
    constexpr std::size_t kBytes = 100000;
    Buffer source(driver(), Kind::kDevice, kBytes, 0);
    Buffer destination(driver(), Kind::kDevice, kBytes, 0);
    source.write(pattern(kBytes, 3));
    const Pointer to = classify(destination.data());
    const Pointer from = classify(source.data());
    AsyncCopy kept;
    EXPECT_EQ(kept.poll(), Status::kOk) << "nothing was started";
    {
        auto started = AsyncCopy::start(destination.data(), to, source.data(), from, kBytes);
        ASSERT_TRUE(started.ok());
        kept = std::move(*started);
    }
    EXPECT_EQ(finish(kept), Status::kOk);
    EXPECT_EQ(destination.read(), pattern(kBytes, 3));
    {
        auto dropped = AsyncCopy::start(destination.data(), to, source.data(), from, kBytes);
        ASSERT_TRUE(dropped.ok());  // waits as it goes
    }
    auto nothing = AsyncCopy::start(nullptr, to, nullptr, from, 0);
    ASSERT_TRUE(nothing.ok());
    EXPECT_EQ(nothing->poll(), Status::kOk);
}

TEST(Copy, PackAndUnpackTouchTheirRunsOnly) {
    datatype::Layout layout;
    layout.blocks = {{4, 3}, {-2, 2}, {10, 5}};
    layout.size = 10;
    layout.extent = 20;
    constexpr std::size_t kCount = 7;
    constexpr std::size_t kSpan = 20 * kCount + 20;
    for (const Kind kind : kKinds) {
        for (const std::size_t skip : {0U, 1U, 13U}) {
            const std::size_t bytes = layout.bytes(kCount) - skip - 2;
            const Bytes data = pattern(kSpan, 5);
            Buffer buffer(driver(), kind, kSpan, 0);
            buffer.write(data);
            auto* element = static_cast<unsigned char*>(buffer.data()) + 10;
            Bytes packed(bytes);
            Bytes expected(bytes);
            ASSERT_EQ(pack(layout, kCount, element, classify(element), skip, packed.data(), bytes),
                      Status::kOk);
            datatype::pack(layout, kCount, data.data() + 10, skip,
                           std::as_writable_bytes(std::span(expected)));
            EXPECT_EQ(packed, expected) << to_string(kind);
            const Bytes news = pattern(bytes, 77);
            ASSERT_EQ(unpack(layout, kCount, element, classify(element), skip, news.data(), bytes),
                      Status::kOk);
            Bytes after = data;
            datatype::unpack(layout, kCount, after.data() + 10, skip,
                             std::as_bytes(std::span(news)));
            EXPECT_EQ(buffer.read(), after) << to_string(kind);
            EXPECT_TRUE(buffer.margins_untouched());
        }
    }
}

TEST(Copy, TheCallersContextIsLeftAlone) {
    Buffer source(driver(), Kind::kDevice, 1000, 0);
    Bytes out(1000);
    CUcontext before = nullptr;
    CUcontext after = nullptr;
    driver().cuCtxGetCurrent(&before);
    EXPECT_EQ(copy(out.data(), source.data(), 1000), Status::kOk);
    driver().cuCtxGetCurrent(&after);
    EXPECT_EQ(after, before);
    std::thread([&] {  // where none is current
        EXPECT_EQ(copy(out.data(), source.data(), 1000), Status::kOk);
        driver().cuCtxGetCurrent(&after);
    })
        .join();
    EXPECT_EQ(after, nullptr);
}

/// Calls that read or change the current context, as SoftCUDA counts them.
unsigned long long context_calls() {
    const auto calls = reinterpret_cast<unsigned long long (*)(const char*)>(
        world::software_entry("softcuda_calls"));
    unsigned long long sum = 0;
    for (const char* name :
         {"cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxGetCurrent", "cuCtxSetCurrent"}) {
        sum += calls != nullptr ? calls(name) : 0;
    }
    return sum;
}

// The stream says where a copy runs, so any current context will do.
TEST(Copy, NeedsNoContextCallsOnceItsStreamsAreThere) {
    Buffer source(driver(), Kind::kDevice, 1000, 0);
    const Bytes data = pattern(1000, 8);
    source.write(data);
    const auto copy_both_ways = [&] {
        Bytes out(1000);
        EXPECT_EQ(copy(out.data(), source.data(), 1000), Status::kOk);
        EXPECT_EQ(out, data);
        Bytes later(1000);
        auto started =
            AsyncCopy::start(later.data(), Pointer{}, source.data(), classify(source.data()), 1000);
        ASSERT_TRUE(started.ok());
        EXPECT_EQ(finish(*started), Status::kOk);
        EXPECT_EQ(later, data);
    };
    copy_both_ways();
    unsigned long long before = context_calls();
    for (int repeat = 0; repeat < 5; ++repeat) {
        copy_both_ways();
    }
    EXPECT_EQ(context_calls(), before);
    CUcontext other = nullptr;
    if (driver().cuDevicePrimaryCtxRetain(&other, 1) != CUDA_SUCCESS) {
        return;  // a machine with one device
    }
    ASSERT_EQ(driver().cuCtxPushCurrent(other), CUDA_SUCCESS);
    before = context_calls();
    copy_both_ways();
    EXPECT_EQ(context_calls(), before) << "the context of another device";
    CUcontext popped = nullptr;
    driver().cuCtxPopCurrent(&popped);
    EXPECT_EQ(popped, other);
}

// A context that was destroyed while it was current is no reason to give up streams of another.
TEST(Copy, DestroyedCurrentContextDoesNoHarm) {
    using Create = CUresult (*)(CUcontext*, unsigned, CUdevice);
    using Destroy = CUresult (*)(CUcontext);
    const auto create = reinterpret_cast<Create>(world::software_entry("cuCtxCreate_v2"));
    const auto destroy = reinterpret_cast<Destroy>(world::software_entry("cuCtxDestroy_v2"));
    ASSERT_TRUE(create != nullptr && destroy != nullptr);
    Buffer source(driver(), Kind::kDevice, 1000, 0);
    const Bytes data = pattern(1000, 9);
    source.write(data);
    const unsigned lost = contexts_lost();
    std::thread([&] {
        CUcontext own = nullptr;
        ASSERT_EQ(create(&own, 0, 0), CUDA_SUCCESS);
        std::thread([&] { ASSERT_EQ(destroy(own), CUDA_SUCCESS); }).join();
        for (int repeat = 0; repeat < 3; ++repeat) {
            Bytes out(1000);
            EXPECT_EQ(copy(out.data(), source.data(), 1000), Status::kOk);
            EXPECT_EQ(out, data);
        }
    }).join();
    EXPECT_EQ(contexts_lost(), lost);
}

TEST(Copy, FailureNamesTheCallOnce) {
    Buffer source(driver(), Kind::kDevice, 1000, 0);
    CUdeviceptr freed = 0;
    ASSERT_EQ(driver().cuMemAlloc(&freed, 8 << 20), CUDA_SUCCESS);
    const auto* gone = reinterpret_cast<const void*>(freed);
    const Pointer from = classify(gone);
    ASSERT_EQ(driver().cuMemFree(freed), CUDA_SUCCESS);
    Bytes out(1000);
    const test::LogCapture log;
    EXPECT_EQ(copy(out.data(), Pointer{}, gone, from, 1000), Status::kDriver);
    auto started = AsyncCopy::start(out.data(), Pointer{}, gone, from, 1000);
    EXPECT_TRUE(!started || finish(*started) == Status::kDriver);
    EXPECT_EQ(log.count("cuMemcpyAsync failed"), 1);
    EXPECT_EQ(copy(out.data(), source.data(), 1000), Status::kOk) << "later copies are well";
}

TEST(Copy, SurvivesADeviceReset) {
    const test::LogCapture log;
    for (int round = 0; round < 3; ++round) {
        constexpr std::size_t kBytes = 5000;
        const Bytes data = pattern(kBytes, static_cast<unsigned>(round));
        {
            Buffer device(driver(), Kind::kDevice, kBytes, 0);
            device.write(data);
            EXPECT_EQ(device.read(), data);
            Bytes out(kBytes);
            auto started = AsyncCopy::start(out.data(), Pointer{}, device.data(),
                                            classify(device.data()), kBytes);
            ASSERT_TRUE(started.ok());
            EXPECT_EQ(finish(*started), Status::kOk);
            EXPECT_EQ(out, data);
        }
        world::reset_device(driver(), 0);
        world::use_device(driver(), 0);
    }
    EXPECT_EQ(log.count("failed"), 0) << "streams that went with the reset are no failure";
}

TEST(Copy, ResourcesAreMadeAnewAfterRelease) {
    Buffer device(driver(), Kind::kDevice, 100, 0);
    const Bytes data = pattern(100, 4);
    device.write(data);
    release_copy_resources();
    release_copy_resources();
    EXPECT_EQ(device.read(), data);
}

TEST(StagingPool, ChunksAreBoundedDistinctAndReused) {
    Buffer device(driver(), Kind::kDevice, 100, 0);
    const Pointer side = classify(device.data());
    StagingPool pool(8192, 4);
    EXPECT_EQ(pool.chunk_bytes(), 8192U);
    std::set<std::byte*> out;
    for (int i = 0; i < 4; ++i) {
        std::byte* chunk = pool.take(side);
        ASSERT_NE(chunk, nullptr);
        EXPECT_EQ(classify(chunk).kind, Kind::kPinned) << "registered with CUDA";
        chunk[0] = chunk[8191] = std::byte{1};
        out.insert(chunk);
    }
    EXPECT_EQ(out.size(), 4U);
    EXPECT_EQ(pool.take(side), nullptr);
    std::byte* first = *out.begin();
    pool.give_back(first);
    EXPECT_EQ(pool.take(side), first);
    for (std::byte* chunk : out) {
        pool.give_back(chunk);
    }
    pool.release();
    pool.release();
    EXPECT_EQ(classify(first).kind, Kind::kHost);
    EXPECT_NE(pool.take(side), nullptr) << "made anew";
}

TEST(StagingPool, ServesHostMemoryWithoutADriver) {
    StagingPool pool(4096, 1);
    std::byte* chunk = pool.take(Pointer{});
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(classify(chunk).kind, Kind::kHost);
}

}  // namespace
}  // namespace beeline::memory
