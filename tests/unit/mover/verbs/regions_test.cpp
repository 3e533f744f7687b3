// SPDX-License-Identifier: BSD-3-Clause
// The cache of registrations, over a libibverbs and a driver of the test's own.
#include "mover/verbs/regions.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/log_capture.hpp"
#include "unit/mover/verbs/fake_gpu.hpp"
#include "unit/mover/verbs/fake_verbs.hpp"

namespace beeline::mover::verbs {
namespace {

using test::FakeRegion;

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint64_t kPage = 4096;

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
        ++count;
    }
    return count;
}

class RegionsTest : public testing::Test {
 protected:
    /// One rail a card.
    Regions& open(unsigned cards = 1, const RegionLimits& limits = {}) {
        for (unsigned i = 0; i < cards; ++i) {
            verbs_.add("card" + std::to_string(i));
        }
        EXPECT_EQ(devices_.open(verbs_.api(), {}, "/nowhere"), Status::kOk);
        regions_ = std::make_unique<Regions>(devices_.ports(), limits);
        return *regions_;
    }
    /// Acquires a whole allocation on rail 0 and gives it back.
    Status use(const memory::Pointer& where, RailSet rails = 1) {
        auto got = regions_->acquire(where, where.base, where.size, rails);
        if (got) {
            regions_->release(*got);
        }
        return got.status();
    }
    void refuse_all(int error) {
        verbs_.refuse = [error](const FakeRegion&) { return error; };
    }

    test::FakeVerbs verbs_;
    test::FakeGpu gpu_;
    Devices devices_;
    std::unique_ptr<Regions> regions_;
};

TEST_F(RegionsTest, ABufferIsRegisteredOnceHoweverOftenItIsUsed) {
    Regions& regions = open();
    const memory::Pointer buffer = gpu_.allocate(kBase, 1 << 20);
    for (std::uint64_t i = 0; i < 100; ++i) {
        auto region = regions.acquire(buffer, kBase + i * 64, 64, 1);
        ASSERT_TRUE(region.ok());
        EXPECT_EQ((*region)->base, kBase);
        EXPECT_EQ((*region)->bytes, 1U << 20) << "the whole allocation";
        EXPECT_NE((*region)->keys[0].local, 0U);
        EXPECT_NE((*region)->keys[0].remote, 0U);
        regions.release(*region);
    }
    EXPECT_EQ(verbs_.regions().size(), 1U);
    EXPECT_EQ(gpu_.exports, 1);
    EXPECT_EQ(regions.counters().registrations, 1U);
    EXPECT_EQ(regions.counters().hits, 99U);
    EXPECT_EQ(regions.registered_bytes(), 1U << 20);
}

TEST_F(RegionsTest, AHitAsksTheDriverNothing) {
    open();
    const memory::Pointer buffer = gpu_.allocate(kBase, 1 << 20);
    ASSERT_EQ(use(buffer), Status::kOk);
    const int before = gpu_.queries;
    ASSERT_EQ(use(buffer), Status::kOk);
    EXPECT_EQ(gpu_.queries, before) << "classify() has just asked for the buffer id";
}

TEST_F(RegionsTest, ADmaBufIsOfWholePagesAndItsOffsetLeadsToTheMemory) {
    Regions& regions = open();
    const memory::Pointer buffer = gpu_.allocate(kBase + 512, 3 * kPage);
    ASSERT_EQ(use(buffer), Status::kOk);
    ASSERT_EQ(verbs_.regions().size(), 1U);
    const FakeRegion& made = verbs_.regions()[0];
    EXPECT_TRUE(made.dma_buf);
    EXPECT_EQ(made.offset, 512U);
    EXPECT_EQ(made.bytes, 3 * kPage);
    EXPECT_EQ(made.address, kBase + 512) << "cards use the device's own addresses";
    auto region = regions.acquire(buffer, kBase + 512, 1, 1);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->means, Means::kDmaBuf);
    regions.release(*region);
}

TEST_F(RegionsTest, NoDescriptorOutlivesARegistration) {
    open(2);
    const std::size_t before = open_descriptors();
    for (std::uint64_t i = 0; i < 20; ++i) {
        const memory::Pointer buffer = gpu_.allocate(kBase + i * kPage, kPage);
        if (i % 3 == 0) {
            refuse_all(EOPNOTSUPP);
        } else {
            verbs_.refuse = nullptr;
        }
        use(buffer, 3);
    }
    EXPECT_EQ(gpu_.exports, 20) << "one dma-buf for both cards";
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(RegionsTest, WhereTheCardTakesNoDmaBufPeerMemoryServes) {
    Regions& regions = open();
    verbs_.refuse = [](const FakeRegion& region) { return region.dma_buf ? EOPNOTSUPP : 0; };
    for (std::uint64_t i = 0; i < 10; ++i) {
        const memory::Pointer buffer = gpu_.allocate(kBase + i * kPage, kPage);
        auto region = regions.acquire(buffer, buffer.base, 1, 1);
        ASSERT_TRUE(region.ok());
        EXPECT_EQ((*region)->means, Means::kPeerMemory);
        regions.release(*region);
    }
    EXPECT_LE(gpu_.exports, 3) << "what never worked is not tried for ever";
    EXPECT_EQ(regions.counters().refusals, 0U);
}

TEST_F(RegionsTest, WhereTheDriverMakesNoDmaBufPeerMemoryServes) {
    Regions& regions = open();
    gpu_.export_result = CUDA_ERROR_NOT_SUPPORTED;
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    EXPECT_FALSE(verbs_.regions()[0].dma_buf);
    gpu_.driver().cuMemGetHandleForAddressRange = nullptr;  // an old driver
    ASSERT_EQ(use(gpu_.allocate(kBase + kPage, kPage)), Status::kOk);
    verbs_.api().reg_dmabuf_mr = nullptr;  // an old library
    ASSERT_EQ(use(gpu_.allocate(kBase + 2 * kPage, kPage)), Status::kOk);
    EXPECT_EQ(regions.counters().registrations, 3U);
}

TEST_F(RegionsTest, WithoutAModuleTheReasonIsToldOnceAndNoMoreIsTried) {
    const test::LogCapture log(LogLevel::kWarning);
    Regions& regions = open();
    verbs_.refuse = [](const FakeRegion& region) { return region.dma_buf ? EOPNOTSUPP : EFAULT; };
    const memory::Pointer first = gpu_.allocate(kBase, kPage);
    EXPECT_TRUE(regions.may_register(first, 1));
    for (int round = 0; round < 50; ++round) {
        EXPECT_EQ(use(first), Status::kUnsupported);
    }
    EXPECT_EQ(gpu_.exports, 1) << "for one buffer once";
    EXPECT_EQ(regions.refusal().missing, Missing::kModule);
    for (std::uint64_t i = 1; i < 50; ++i) {
        EXPECT_EQ(use(gpu_.allocate(kBase + i * kPage, kPage)), Status::kUnsupported);
    }
    EXPECT_LE(gpu_.exports, 3);
    EXPECT_FALSE(regions.may_register(first, 1));
    EXPECT_LE(log.count("cannot reach memory"), 1);
    EXPECT_EQ(regions.registered_bytes(), 0U);
}

TEST_F(RegionsTest, OneOddBufferDoesNotCloseAWayThatWorks) {
    open();
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    refuse_all(EINVAL);
    for (std::uint64_t i = 1; i < 10; ++i) {
        EXPECT_EQ(use(gpu_.allocate(kBase + i * kPage, kPage)), Status::kUnsupported);
    }
    verbs_.refuse = nullptr;
    EXPECT_EQ(use(gpu_.allocate(kBase + 10 * kPage, kPage)), Status::kOk);
}

TEST_F(RegionsTest, AGpuWithoutGpuDirectIsNotTried) {
    const test::LogCapture log(LogLevel::kWarning);
    Regions& regions = open();
    gpu_.attributes[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED] = 0;
    const memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    EXPECT_FALSE(regions.may_register(buffer, 1));
    EXPECT_EQ(use(buffer), Status::kUnsupported);
    EXPECT_EQ(regions.refusal().missing, Missing::kGpuSupport);
    EXPECT_TRUE(verbs_.regions().empty());
    EXPECT_EQ(gpu_.exports, 0);
}

TEST_F(RegionsTest, ManagedAndHostMemoryAreNotRegistered) {
    Regions& regions = open();
    memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    buffer.kind = memory::Kind::kManaged;
    EXPECT_FALSE(regions.may_register(buffer, 1));
    EXPECT_EQ(use(buffer), Status::kUnsupported);
    EXPECT_EQ(regions.refusal().missing, Missing::kKind);
    buffer.kind = memory::Kind::kPinned;
    EXPECT_EQ(use(buffer), Status::kInvalid);
    EXPECT_TRUE(verbs_.regions().empty());
}

TEST_F(RegionsTest, SwitchedOffMeansAreNotTried) {
    RegionLimits limits;
    limits.allowed.dma_buf = false;
    Regions& regions = open(1, limits);
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    EXPECT_EQ(gpu_.exports, 0);
    EXPECT_FALSE(verbs_.regions()[0].dma_buf);
    limits.allowed.peer_memory = false;
    regions_ = std::make_unique<Regions>(devices_.ports(), limits);
    EXPECT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kUnsupported);
    EXPECT_EQ(regions_->refusal().missing, Missing::kSwitchedOff);
    (void)regions;
}

TEST_F(RegionsTest, TheSameAddressAllocatedAnewIsRegisteredAnew) {
    Regions& regions = open();
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    gpu_.free(kBase);
    const memory::Pointer again = gpu_.allocate(kBase, kPage);
    auto region = regions.acquire(again, kBase, kPage, 1);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->keys[0].local, 2U) << "not the key of the freed memory";
    regions.release(*region);
    EXPECT_EQ(regions.counters().freed, 1U);
    EXPECT_EQ(verbs_.alive(), 1U);
    EXPECT_EQ(regions.registered_bytes(), kPage);
}

TEST_F(RegionsTest, FreedMemoryIsNoticedWhenOtherMemoryIsUsed) {
    Regions& regions = open();
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    gpu_.free(kBase);
    ASSERT_EQ(use(gpu_.allocate(kBase + 64 * kPage, kPage)), Status::kOk);
    EXPECT_EQ(regions.entries(), 1U);
    EXPECT_EQ(regions.counters().freed, 1U);
    gpu_.free(kBase + 64 * kPage);
    regions.recheck(1);
    EXPECT_EQ(regions.entries(), 0U);
    EXPECT_EQ(verbs_.alive(), 0U);
}

TEST_F(RegionsTest, AllocationsThatReplaceSeveralAreNotMixedUp) {
    Regions& regions = open();
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    ASSERT_EQ(use(gpu_.allocate(kBase + kPage, kPage)), Status::kOk);
    ASSERT_EQ(use(gpu_.allocate(kBase + 2 * kPage, kPage)), Status::kOk);
    gpu_.free(kBase + kPage);
    gpu_.free(kBase + 2 * kPage);
    const memory::Pointer large = gpu_.allocate(kBase + kPage, 2 * kPage);
    auto region = regions.acquire(large, kBase + 2 * kPage, 64, 1);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->base, kBase + kPage);
    regions.release(*region);
    EXPECT_EQ(verbs_.alive(), 2U);
    EXPECT_EQ(regions.registered_bytes(), 3 * kPage);
}

TEST_F(RegionsTest, TenThousandBuffersStayUnderTheCaps) {
    RegionLimits limits;
    limits.entries = 100;
    limits.bytes = 150 * kPage;
    Regions& regions = open(1, limits);
    for (std::uint64_t i = 0; i < 10000; ++i) {
        const std::uint64_t bytes = (1 + i % 4) * kPage;
        ASSERT_EQ(use(gpu_.allocate(kBase + i * 8 * kPage, bytes)), Status::kOk);
        ASSERT_LE(regions.entries(), 100U);
        ASSERT_LE(regions.registered_bytes(), 150 * kPage);
    }
    EXPECT_LE(verbs_.most_alive(), 100U);
    EXPECT_EQ(verbs_.regions().size(), 10000U);
    EXPECT_EQ(regions.counters().evictions, 10000U - regions.entries());
    EXPECT_GE(regions.entries(), 50U);
}

TEST_F(RegionsTest, TheLeastRecentlyUsedGoesFirst) {
    RegionLimits limits;
    limits.entries = 2;
    open(1, limits);
    const memory::Pointer one = gpu_.allocate(kBase, kPage);
    const memory::Pointer two = gpu_.allocate(kBase + kPage, kPage);
    const memory::Pointer three = gpu_.allocate(kBase + 2 * kPage, kPage);
    use(one);
    use(two);
    use(one);
    use(three);
    EXPECT_TRUE(verbs_.regions()[0].alive);
    EXPECT_FALSE(verbs_.regions()[1].alive);
    EXPECT_TRUE(verbs_.regions()[2].alive);
}

TEST_F(RegionsTest, WhatIsInUseIsNeitherEvictedNorDeregistered) {
    RegionLimits limits;
    limits.entries = 2;
    Regions& regions = open(1, limits);
    const memory::Pointer one = gpu_.allocate(kBase, kPage);
    const memory::Pointer two = gpu_.allocate(kBase + kPage, kPage);
    const memory::Pointer three = gpu_.allocate(kBase + 2 * kPage, kPage);
    auto first = regions.acquire(one, kBase, kPage, 1);
    auto second = regions.acquire(two, kBase + kPage, kPage, 1);
    ASSERT_TRUE(first.ok() && second.ok());
    auto third = regions.acquire(three, kBase + 2 * kPage, kPage, 1);
    EXPECT_EQ(third.status(), Status::kNoMemory);
    EXPECT_EQ(regions.refusal().missing, Missing::kBounds);
    regions.release(*first);
    third = regions.acquire(three, kBase + 2 * kPage, kPage, 1);
    ASSERT_TRUE(third.ok()) << "there is room again";
    EXPECT_TRUE(verbs_.regions()[1].alive);
    // Freed while a card may still write: it must not be deregistered under it.
    gpu_.free(kBase + kPage);
    regions.recheck(2);
    EXPECT_TRUE(verbs_.regions()[1].alive);
    EXPECT_TRUE((*second)->stale);
    const memory::Pointer again = gpu_.allocate(kBase + kPage, kPage);
    regions.release(*third);
    auto fresh = regions.acquire(again, kBase + kPage, kPage, 1);
    ASSERT_TRUE(fresh.ok());
    EXPECT_NE(*fresh, *second);
    regions.release(*second);
    EXPECT_FALSE(verbs_.regions()[1].alive) << "by its last user";
    regions.clear();
    EXPECT_EQ(verbs_.alive(), 1U);
    regions.release(*fresh);
    EXPECT_EQ(verbs_.alive(), 0U);
    EXPECT_EQ(regions.registered_bytes(), 0U);
}

TEST_F(RegionsTest, ADiscardedRegionIsMadeAnew) {
    Regions& regions = open();
    const memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    auto one = regions.acquire(buffer, kBase, kPage, 1);
    auto two = regions.acquire(buffer, kBase, kPage, 1);
    ASSERT_TRUE(one.ok() && two.ok());
    regions.discard(*one);
    EXPECT_EQ(verbs_.alive(), 1U);
    auto fresh = regions.acquire(buffer, kBase, kPage, 1);
    ASSERT_TRUE(fresh.ok());
    EXPECT_EQ((*fresh)->keys[0].local, 2U);
    regions.discard(*two);
    EXPECT_EQ(verbs_.alive(), 1U);
    regions.release(*fresh);
}

TEST_F(RegionsTest, MoreThanTheBytesAllowedIsNotRegistered) {
    const test::LogCapture log(LogLevel::kWarning);
    RegionLimits limits;
    limits.bytes = 8 * kPage;
    Regions& regions = open(1, limits);
    ASSERT_EQ(use(gpu_.allocate(kBase + 64 * kPage, kPage)), Status::kOk);
    EXPECT_EQ(use(gpu_.allocate(kBase, 9 * kPage)), Status::kNoMemory);
    EXPECT_EQ(regions.refusal().missing, Missing::kBounds);
    EXPECT_LE(log.count("cannot reach memory"), 1);
    EXPECT_EQ(verbs_.alive(), 1U) << "nothing is thrown out for what can never fit";
}

TEST_F(RegionsTest, EachRailIsRegisteredWhenItIsFirstUsed) {
    Regions& regions = open(2);
    const memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    auto region = regions.acquire(buffer, kBase, kPage, 2);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->rails, 2U);
    EXPECT_EQ((*region)->keys[0].local, 0U);
    auto both = regions.acquire(buffer, kBase, kPage, 3);
    ASSERT_TRUE(both.ok());
    EXPECT_EQ(*both, *region);
    EXPECT_EQ((*both)->rails, 3U);
    EXPECT_NE((*both)->keys[0].local, (*both)->keys[1].local);
    EXPECT_EQ(verbs_.regions()[0].card->name, "card1");
    EXPECT_EQ(regions.registered_bytes(), kPage);
    regions.release(*region);
    regions.release(*both);
    regions.clear();
    EXPECT_EQ(verbs_.alive(), 0U);
}

TEST_F(RegionsTest, PortsOfOneCardShareARegistration) {
    verbs_.add("dual", 2);
    Regions& regions = open(0);
    const memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    auto region = regions.acquire(buffer, kBase, kPage, 3);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->rails, 3U);
    EXPECT_EQ((*region)->keys[0].local, (*region)->keys[1].local);
    EXPECT_EQ(verbs_.regions().size(), 1U);
    regions.release(*region);
}

TEST_F(RegionsTest, ACardThatRefusesLeavesTheOthers) {
    const test::LogCapture log(LogLevel::kWarning);
    Regions& regions = open(2);
    verbs_.refuse = [](const FakeRegion& region) {
        return region.card->name == "card0" ? ENOSPC : 0;
    };
    const memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    auto region = regions.acquire(buffer, kBase, kPage, 3);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->rails, 2U);
    regions.release(*region);
    EXPECT_LE(log.count("cannot reach memory"), 1);
    EXPECT_EQ(log.count("go through host memory"), 0);
    EXPECT_EQ(regions.acquire(buffer, kBase, kPage, 1).status(), Status::kNoMemory);
}

TEST_F(RegionsTest, MemoryOfManyMappingsIsOneRegion) {
    Regions& regions = open();
    for (std::uint64_t i = 0; i < 8; ++i) {
        gpu_.map(kBase + i * 16 * kPage, 16 * kPage);
    }
    const std::uint64_t inside = kBase + 40 * kPage;
    auto region = regions.acquire(gpu_.classify(inside), inside, 32 * kPage, 1);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->base, kBase);
    EXPECT_EQ((*region)->bytes, 8 * 16 * kPage);
    regions.release(*region);
    ASSERT_EQ(use(gpu_.classify(kBase)), Status::kOk);
    EXPECT_EQ(verbs_.regions().size(), 1U);
    // One of them is replaced: messages elsewhere still go, one that touches it registers anew.
    gpu_.free(kBase + 48 * kPage);
    gpu_.map(kBase + 48 * kPage, 16 * kPage);
    ASSERT_EQ(use(gpu_.classify(kBase)), Status::kOk);
    EXPECT_EQ(verbs_.regions().size(), 1U);
    region = regions.acquire(gpu_.classify(inside), inside, 32 * kPage, 1);
    ASSERT_TRUE(region.ok());
    regions.release(*region);
    EXPECT_EQ(verbs_.regions().size(), 2U);
    EXPECT_EQ(verbs_.alive(), 1U);
    // It grows.
    gpu_.map(kBase + 128 * kPage, 16 * kPage);
    region = regions.acquire(gpu_.classify(inside), inside, 100 * kPage, 1);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->bytes, 9 * 16 * kPage);
    regions.release(*region);
    EXPECT_EQ(verbs_.alive(), 1U);
    EXPECT_EQ(regions.registered_bytes(), 9 * 16 * kPage);
}

TEST_F(RegionsTest, AMessageOverAGapIsRefused) {
    Regions& regions = open();
    gpu_.map(kBase, kPage);
    gpu_.map(kBase + 2 * kPage, kPage);
    EXPECT_FALSE(regions.acquire(gpu_.classify(kBase), kBase, 3 * kPage, 1).ok());
    EXPECT_TRUE(regions.acquire(gpu_.classify(kBase), kBase, kPage, 1).ok());
}

TEST_F(RegionsTest, ADriverThatTakesOneMappingAtATimeGetsThem) {
    Regions& regions = open();
    gpu_.spans_parts = false;
    verbs_.refuse = [](const FakeRegion& region) { return region.dma_buf ? 0 : EFAULT; };
    for (std::uint64_t i = 0; i < 4; ++i) {
        gpu_.map(kBase + i * 16 * kPage, 16 * kPage);
    }
    auto region = regions.acquire(gpu_.classify(kBase), kBase, kPage, 1);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->bytes, 16 * kPage);
    regions.release(*region);
    EXPECT_EQ(gpu_.exports, 2);
    region = regions.acquire(gpu_.classify(kBase + 16 * kPage), kBase + 16 * kPage, kPage, 1);
    ASSERT_TRUE(region.ok());
    regions.release(*region);
    EXPECT_EQ(gpu_.exports, 3) << "remembered";
    EXPECT_EQ(verbs_.alive(), 2U);
}

TEST_F(RegionsTest, MappingsMadeWithoutGpuDirectAreNotTried) {
    const test::LogCapture log(LogLevel::kWarning);
    Regions& regions = open();
    gpu_.map(kBase, kPage, false);
    EXPECT_EQ(use(gpu_.classify(kBase)), Status::kUnsupported);
    EXPECT_EQ(regions.refusal().missing, Missing::kVmmSupport);
    EXPECT_LE(log.count("cannot reach memory"), 1);
    EXPECT_EQ(gpu_.exports, 0);
}

TEST_F(RegionsTest, ALimitThatWasReachedIsTriedAgainLater) {
    open();
    int attempts = 0;
    bool full = true;
    verbs_.refuse = [&](const FakeRegion& region) {
        attempts += region.dma_buf ? 1 : 0;
        return full ? ENOMEM : 0;
    };
    const memory::Pointer buffer = gpu_.allocate(kBase, kPage);
    EXPECT_EQ(use(buffer), Status::kNoMemory);
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(use(buffer), Status::kNoMemory);
    }
    EXPECT_EQ(attempts, 1) << "not at each message";
    full = false;
    Status last = Status::kNoMemory;
    for (int i = 0; i < 100; ++i) {
        last = use(buffer);
    }
    EXPECT_EQ(last, Status::kOk);
}

TEST_F(RegionsTest, WhenTheCardIsFullWhatNobodyUsesMakesRoom) {
    Regions& regions = open();
    for (std::uint64_t i = 0; i < 4; ++i) {
        ASSERT_EQ(use(gpu_.allocate(kBase + i * kPage, kPage)), Status::kOk);
    }
    verbs_.refuse = [&](const FakeRegion&) { return verbs_.alive() >= 4 ? ENOMEM : 0; };
    ASSERT_EQ(use(gpu_.allocate(kBase + 4 * kPage, kPage)), Status::kOk);
    EXPECT_EQ(regions.counters().evictions, 1U);
    EXPECT_EQ(verbs_.alive(), 4U);
}

TEST_F(RegionsTest, RelaxedOrderingIsAskedForAndDoneWithout) {
    RegionLimits limits;
    open(1, limits);
    ASSERT_EQ(use(gpu_.allocate(kBase, kPage)), Status::kOk);
    EXPECT_NE(verbs_.regions()[0].access & IBV_ACCESS_RELAXED_ORDERING, 0U);
    verbs_.refuse = [](const FakeRegion& region) {
        return (region.access & IBV_ACCESS_RELAXED_ORDERING) != 0 ? EINVAL : 0;
    };
    ASSERT_EQ(use(gpu_.allocate(kBase + kPage, kPage)), Status::kOk);
    EXPECT_TRUE(verbs_.regions()[1].dma_buf);
    EXPECT_EQ(verbs_.regions()[1].access & IBV_ACCESS_RELAXED_ORDERING, 0U);
    limits.allowed.relaxed_ordering = false;
    verbs_.refuse = nullptr;
    regions_ = std::make_unique<Regions>(devices_.ports(), limits);
    ASSERT_EQ(use(gpu_.allocate(kBase + 2 * kPage, kPage)), Status::kOk);
    EXPECT_EQ(verbs_.regions()[2].access & IBV_ACCESS_RELAXED_ORDERING, 0U);
    verbs_.api().reg_mr_iova2 = nullptr;  // an old library takes no such flag
    verbs_.refuse = [](const FakeRegion& region) { return region.dma_buf ? EOPNOTSUPP : 0; };
    regions_ = std::make_unique<Regions>(devices_.ports(), RegionLimits{});
    ASSERT_EQ(use(gpu_.allocate(kBase + 3 * kPage, kPage)), Status::kOk);
    EXPECT_EQ(verbs_.regions()[3].access & IBV_ACCESS_RELAXED_ORDERING, 0U);
}

TEST_F(RegionsTest, HostMemoryIsRegisteredOnAllRails) {
    Regions& regions = open(2);
    std::vector<char> slots(1 << 16);
    auto region = regions.add_host(slots.data(), slots.size(), 3);
    ASSERT_TRUE(region.ok());
    EXPECT_EQ((*region)->rails, 3U);
    EXPECT_EQ((*region)->means, Means::kHost);
    EXPECT_EQ(regions.entries(), 0U) << "no bound on it";
    EXPECT_EQ(regions.registered_bytes(), 0U);
    regions.remove(*region);
    EXPECT_EQ(verbs_.alive(), 0U);
    EXPECT_EQ(regions.registered_bytes(), 0U);
    verbs_.refuse = [](const FakeRegion& wanted) {
        return wanted.card->name == "card1" ? EPERM : 0;
    };
    EXPECT_EQ(regions.add_host(slots.data(), slots.size(), 3).status(), Status::kUnsupported);
    EXPECT_EQ(regions.refusal().missing, Missing::kPermission);
    EXPECT_EQ(verbs_.alive(), 0U) << "nothing is left of half of it";
}

/// In a process of its own: the limits, once lowered, stay.
class RegionsDeathTest : public RegionsTest {
 protected:
    [[noreturn]] void run_out_of_descriptors() {
        Regions& regions = open();
        const rlimit limit{64, 64};
        setrlimit(RLIMIT_NOFILE, &limit);
        std::uint64_t good = 0;
        for (std::uint64_t i = 0; i < 10000; ++i) {
            good += use(gpu_.allocate(kBase + i * kPage, kPage)) == Status::kOk ? 1 : 0;
        }
        if (good != 10000) {
            std::_Exit(1);
        }
        int spare = 0;
        while (spare >= 0) {
            spare = dup(0);
        }
        verbs_.refuse = [](const FakeRegion&) { return EFAULT; };  // no peer memory either
        const Status status = use(gpu_.allocate(kBase - kPage, kPage));
        const bool told =
            status == Status::kNoMemory && regions.refusal().missing == Missing::kDescriptors;
        std::_Exit(told ? 0 : 2);
    }
    [[noreturn]] void go_without_a_module() {
        const test::LogCapture log(LogLevel::kWarning);
        open(2);
        refuse_all(EFAULT);
        for (std::uint64_t i = 0; i < 50; ++i) {
            use(gpu_.allocate(kBase + i * kPage, kPage), 3);
            use(gpu_.allocate(kBase + i * kPage, kPage), 1);
        }
        std::_Exit(log.count("nvidia-peermem") == 1 && log.lines().size() == 1 ? 0 : 1);
    }
    [[noreturn]] void lock_too_much() {
        Regions& regions = open();
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        verbs_.refuse = [](const FakeRegion& region) {
            return region.dma_buf ? EOPNOTSUPP : region.bytes > 64 * 1024 ? ENOMEM : 0;
        };
        const Status small = use(gpu_.allocate(kBase, 4 * kPage));
        const Status large = use(gpu_.allocate(kBase + 64 * kPage, 64 * kPage));
        const bool told = small == Status::kOk && large == Status::kNoMemory &&
                          regions.refusal().missing == Missing::kLockedMemory;
        std::_Exit(told ? 0 : 1);
    }
};

TEST_F(RegionsDeathTest, SixtyFourDescriptorsAreEnoughAndWhereThereAreNoneItIsTold) {
    EXPECT_EXIT(run_out_of_descriptors(), testing::ExitedWithCode(0), "descriptor limit");
}

TEST_F(RegionsDeathTest, AMissingModuleIsToldOnce) {
    EXPECT_EXIT(go_without_a_module(), testing::ExitedWithCode(0), "");
}

TEST_F(RegionsDeathTest, ALowLimitOnLockedMemoryIsToldOnce) {
    EXPECT_EXIT(lock_too_much(), testing::ExitedWithCode(0), "memlock limit.*ulimit -l");
}

}  // namespace
}  // namespace beeline::mover::verbs
