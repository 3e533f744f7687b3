// SPDX-License-Identifier: BSD-3-Clause
// Every decision, at each threshold and one byte to either side; and the names reports show.
#include "protocol/select.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace beeline::protocol {
namespace {

constexpr Limits kLimits{1000, 5000, 2000, 300, 0, 800};

SendChoice choose(std::size_t bytes, bool shared_memory, bool on_device) {
    return choose_start({bytes, false, shared_memory, on_device}, kLimits);
}

TEST(ChooseStart, SameProcessIsAlwaysMatchedLocally) {
    for (const bool shared_memory : {false, true}) {
        for (const bool on_device : {false, true}) {
            for (const std::size_t bytes : {0U, 300U, 1000U, 100000U}) {
                const SendChoice choice =
                    choose_start({bytes, true, shared_memory, on_device}, kLimits);
                EXPECT_EQ(choice.start, Start::kSelf);
                EXPECT_EQ(choice.reason, Reason::kSameProcess);
            }
        }
    }
}

/// What is eager up to `limit`, and how larger messages start.
void check_threshold(bool shared_memory, bool on_device, std::size_t limit, Start eager,
                     SendChoice large, std::size_t most = std::size_t{1} << 40) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, limit - 1, limit}) {
        const SendChoice choice = choose(bytes, shared_memory, on_device);
        EXPECT_EQ(choice.start, eager) << bytes;
        EXPECT_EQ(choice.reason, Reason::kSmall) << bytes;
    }
    for (const std::size_t bytes : {limit + 1, limit + 2, most}) {
        const SendChoice choice = choose(bytes, shared_memory, on_device);
        EXPECT_EQ(choice.start, large.start) << bytes;
        EXPECT_EQ(choice.reason, large.reason) << bytes;
    }
}

TEST(ChooseStart, HostBySharedMemory) {
    check_threshold(true, false, kLimits.eager, Start::kEagerShm,
                    {Start::kFragments, Reason::kSmall}, kLimits.fragments);
    for (const std::size_t bytes : {kLimits.fragments + 1, std::size_t{1} << 40}) {
        EXPECT_EQ(choose(bytes, true, false).start, Start::kUcxRendezvous) << bytes;
        EXPECT_EQ(choose(bytes, true, false).reason, Reason::kHostMemory) << bytes;
    }
}

TEST(ChooseStart, WithoutFragments) {
    const Limits limits{1000, 0, 2000, 300};
    EXPECT_EQ(choose_start({1000, false, true, false}, limits).start, Start::kEagerShm);
    EXPECT_EQ(choose_start({1001, false, true, false}, limits).start, Start::kUcxRendezvous);
}

TEST(ChooseStart, LargeHostBySharedMemory) {
    const Limits limits{1000, 5000, 2000, 300, 90000};
    for (const bool contiguous : {false, true}) {
        for (const std::size_t bytes : {5001U, 90000U}) {
            const SendChoice choice = choose_start({bytes, false, true, false, contiguous}, limits);
            EXPECT_EQ(choice.start, Start::kShmRendezvous) << bytes;
            EXPECT_EQ(choice.reason, Reason::kHostMemory);
        }
        EXPECT_EQ(choose_start({90001, false, true, false, contiguous}, limits).start,
                  contiguous ? Start::kUcxRendezvous : Start::kOffers);
        EXPECT_EQ(choose_start({5001, false, false, false, contiguous}, limits).start,
                  contiguous ? Start::kUcxRendezvous : Start::kOffers);
    }
    EXPECT_EQ(choose_start({5001, false, true, true}, limits).start, Start::kOffers);
}

TEST(ChooseStart, HostByUcx) {
    check_threshold(false, false, kLimits.ucx_eager, Start::kEagerUcx,
                    {Start::kUcxRendezvous, Reason::kHostMemory});
}

TEST(ChooseStart, DeviceBySharedMemory) {
    check_threshold(true, true, kLimits.device_eager, Start::kEagerShm,
                    {Start::kOffers, Reason::kNone});
}

TEST(ChooseStart, DeviceByUcx) {
    check_threshold(false, true, kLimits.device_ucx, Start::kEagerUcx,
                    {Start::kOffers, Reason::kNone});
}

TEST(ChooseStart, LimitOfZeroLeavesOnlyEmptyMessagesEager) {
    const Limits limits{64, 64, 64, 0};
    EXPECT_EQ(choose_start({0, false, true, true}, limits).start, Start::kEagerShm);
    EXPECT_EQ(choose_start({1, false, true, true}, limits).start, Start::kOffers);
}

TEST(IpcOffer, NamesTheFirstThingInTheWay) {
    for (unsigned bits = 0; bits < 16; ++bits) {
        IpcFacts facts;
        facts.enabled = (bits & 1) != 0;
        facts.same_node = (bits & 2) != 0;
        facts.shared_memory = (bits & 4) != 0;
        facts.exportable = (bits & 8) != 0;
        const Reason expected = !facts.same_node       ? Reason::kOtherNode
                                : !facts.enabled       ? Reason::kIpcOff
                                : !facts.shared_memory ? Reason::kNoSharedMemory
                                : !facts.exportable    ? Reason::kNotExportable
                                                       : Reason::kDirect;
        EXPECT_EQ(ipc_offer(facts), expected) << bits;
    }
}

TEST(Names, EveryPathHasItsOwn) {
    std::set<std::string> names;
    for (std::size_t path = 0; path < kPaths; ++path) {
        names.insert(to_string(static_cast<Path>(path)));
    }
    EXPECT_EQ(names.size(), kPaths);
    EXPECT_EQ(names.count("unknown"), 0U);
    EXPECT_STREQ(to_string(static_cast<Path>(kPaths)), "unknown") << "kPaths is too small";
    EXPECT_STREQ(to_string(Path::kCudaIpc), "cuda_ipc");
    EXPECT_STREQ(to_string(Path::kStaged), "staged");
}

TEST(Names, EveryReasonHasItsOwn) {
    std::set<std::string> names;
    for (std::size_t reason = 0; reason < kReasons; ++reason) {
        names.insert(to_string(static_cast<Reason>(reason)));
    }
    EXPECT_EQ(names.size(), kReasons);
    EXPECT_EQ(names.count("unknown"), 0U);
    EXPECT_STREQ(to_string(static_cast<Reason>(kReasons)), "unknown") << "kReasons is too small";
}

TEST(Names, WhatIsNoFallback) {
    std::set<Reason> best;
    for (std::size_t reason = 0; reason < kReasons; ++reason) {
        if (!is_fallback(static_cast<Reason>(reason))) {
            best.insert(static_cast<Reason>(reason));
        }
    }
    EXPECT_EQ(best, (std::set<Reason>{Reason::kNone, Reason::kSmall, Reason::kHostMemory,
                                      Reason::kDirect, Reason::kSameProcess, Reason::kAsked}));
}

}  // namespace
}  // namespace beeline::protocol
