// SPDX-License-Identifier: BSD-3-Clause
// Each protocol by itself: what it refuses, and why; and that its estimate is one.
#include "protocol/protocol.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "protocol/select.hpp"
#include "unit/protocol/situations.hpp"

namespace beeline::protocol {
namespace {

constexpr Limits kLimits{1000, 5000, 2000, 300, 400000, 800};

Reason obstacle(const Protocol& protocol, const Situation& situation) {
    return protocol.obstacle(situation, kLimits);
}

template <class Change>
Reason obstacle_after(const Protocol& protocol, Situation situation, Change&& change) {
    change(situation);
    return obstacle(protocol, situation);
}

TEST(Table, IsByIdAndEachDescribesItself) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < kProtocols; ++i) {
        const Protocol& protocol = *table()[i];
        EXPECT_EQ(static_cast<std::size_t>(protocol.id), i);
        EXPECT_EQ(&get(protocol.id), &protocol);
        EXPECT_TRUE(names.insert(protocol.name).second) << protocol.name;
        EXPECT_GT(std::strlen(protocol.needs), 0U) << protocol.name;
        EXPECT_EQ(protocol.does[std::strlen(protocol.does) - 1], '.') << protocol.name;
        EXPECT_NE(protocol.path, Path::kNone) << protocol.name;
    }
}

TEST(Table, EstimatesGrowWithTheMessage) {
    EXPECT_TRUE(rc::check("estimates are positive and never fall", [] {
        Situation situation = any_situation();
        const Costs costs = any_costs();
        for (const Protocol* protocol : table()) {
            const double time = protocol->estimate(situation, costs);
            RC_ASSERT(time >= 0);
            Situation longer = situation;
            longer.bytes += *rc::gen::inRange<std::size_t>(1, 1 << 20);
            RC_ASSERT(protocol->estimate(longer, costs) >= time);
        }
    }));
}

TEST(SelfCopy, WithinAProcessOnly) {
    Situation situation = neighbours(100, true, true);
    EXPECT_EQ(obstacle(self_copy, situation), Reason::kOtherProcess);
    situation.same_process = true;
    EXPECT_EQ(obstacle(self_copy, situation), Reason::kNone);
    for (const Protocol* other : table()) {
        EXPECT_TRUE(other == &self_copy || obstacle(*other, situation) == Reason::kSameProcess)
            << other->name;
    }
}

TEST(EagerAndFragments, KeepTheirLimits) {
    struct Case {
        const Protocol& protocol;
        bool shared_memory;
        bool on_device;
        std::size_t limit;
    };
    for (const Case& each : {Case{eager_host, true, false, kLimits.eager},
                             Case{fragments, true, false, kLimits.fragments},
                             Case{rendezvous_shm, true, false, kLimits.rendezvous_shm},
                             Case{eager_device, true, true, kLimits.device_eager},
                             Case{eager_ucx, false, false, kLimits.ucx_eager},
                             Case{eager_ucx, false, true, kLimits.device_ucx}}) {
        Situation situation =
            neighbours(each.limit, each.on_device, &each.protocol != &rendezvous_shm);
        situation.shared_memory = each.shared_memory;
        EXPECT_EQ(obstacle(each.protocol, situation), Reason::kNone) << each.protocol.name;
        ++situation.bytes;
        EXPECT_EQ(obstacle(each.protocol, situation), Reason::kTooLarge) << each.protocol.name;
        situation.bytes = 1;
        situation.shared_memory = !situation.shared_memory;
        EXPECT_EQ(obstacle(each.protocol, situation),
                  each.shared_memory ? Reason::kNoSharedMemory : Reason::kSharedMemory)
            << each.protocol.name;
    }
}

TEST(EagerRdma, IsForSmallMessagesBetweenNodesWithCards) {
    Situation situation = neighbours(kLimits.device_eager, true, true);
    situation.same_node = false;
    situation.shared_memory = false;
    EXPECT_EQ(obstacle(eager_rdma, situation), Reason::kNotOffered);
    situation.rdma = Reason::kDirect;
    EXPECT_EQ(obstacle(eager_rdma, situation), Reason::kNone);
    EXPECT_EQ(&choose(situation, kLimits, {}, Preference::kAuto), &eager_rdma);
    ++situation.bytes;
    EXPECT_EQ(obstacle(eager_rdma, situation), Reason::kTooLarge);
    EXPECT_NE(&choose(situation, kLimits, {}, Preference::kAuto), &eager_rdma);
    situation.sender.on_device = false;
    EXPECT_EQ(obstacle(eager_rdma, situation), Reason::kTooLarge);
    --situation.bytes;
    EXPECT_EQ(obstacle(eager_rdma, situation), Reason::kNone);
    EXPECT_EQ(&choose(situation, kLimits, {}, Preference::kAuto), &eager_rdma);
    situation.rdma = Reason::kNotOffered;
    EXPECT_EQ(&choose(situation, kLimits, {}, Preference::kAuto), &eager_ucx);
}

TEST(EagerRdma, CopiesAtTheReceiverAndWhereTheCardDoesNotReach) {
    Costs costs;
    costs.rdma = link_of(2000, 1000);       // 2 us and 1 us for 1000 bytes
    costs.host_copy = link_of(5000, 2000);  // 5 us and 1/2 us
    Situation situation = neighbours(1000, true, true);
    EXPECT_NEAR(eager_rdma.estimate(situation, costs), 3 + 5.5, 0.01);
    situation.sender.registers = Reason::kNotRegistered;
    EXPECT_NEAR(eager_rdma.estimate(situation, costs), 3 + 2 * 5.5, 0.01);
    situation.receiver.on_device = false;
    EXPECT_NEAR(eager_rdma.estimate(situation, costs), 3 + 5.5, 0.01);
}

TEST(EagerAndFragments, AreForOneKindOfMemory) {
    EXPECT_EQ(obstacle(eager_host, neighbours(10, true, false)), Reason::kSenderDevice);
    EXPECT_EQ(obstacle(fragments, neighbours(10, true, false)), Reason::kSenderDevice);
    EXPECT_EQ(obstacle(eager_device, neighbours(10, false, true)), Reason::kSenderHost);
}

TEST(RendezvousShm, IsForHostMemory) {
    EXPECT_EQ(obstacle(rendezvous_shm, neighbours(9000, true, false)), Reason::kSenderDevice);
    EXPECT_EQ(obstacle(rendezvous_shm, neighbours(9000, false, true)), Reason::kReceiverDevice);
}

TEST(RendezvousShm, OverlapsItsCopiesBeyondTheFirstBlock) {
    Costs costs;
    costs.shm = link_of(1000, 1000);  // 1 us and 1 us for 1000 bytes
    costs.block = 10000;
    EXPECT_NEAR(rendezvous_shm.estimate(neighbours(100000, false, false), costs), 3 + 10 + 100,
                0.01);
    EXPECT_NEAR(rendezvous_shm.estimate(neighbours(5000, false, false), costs), 3 + 5 + 5, 0.01);
}

// Inside a node the kernel copies for UCX, which has a rate of its own.
TEST(RendezvousUcx, HasTwoRates) {
    Costs costs;
    costs.ucx = link_of(1000, 1000);
    costs.cma = link_of(2000, 500);
    Situation situation = neighbours(1000, false, false);
    EXPECT_NEAR(rendezvous_ucx.estimate(situation, costs), 3 * 2 + 2, 0.01);
    situation.same_node = situation.shared_memory = false;
    EXPECT_NEAR(rendezvous_ucx.estimate(situation, costs), 3 * 1 + 1, 0.01);
}

TEST(RendezvousUcx, IsForHostMemory) {
    EXPECT_EQ(obstacle(rendezvous_ucx, neighbours(1 << 30, false, false)), Reason::kNone);
    EXPECT_EQ(obstacle(rendezvous_ucx, neighbours(1 << 30, true, false)), Reason::kSenderDevice);
    EXPECT_EQ(obstacle(rendezvous_ucx, neighbours(1 << 30, false, true)), Reason::kReceiverDevice);
}

TEST(Ipc, NamesTheFirstThingInTheWay) {
    for (const Protocol* protocol : {&ipc_get, &ipc_put}) {
        const Situation good = neighbours(1 << 20, true, true);
        EXPECT_EQ(obstacle(*protocol, good), Reason::kNone);
        const auto after = [&](auto&& change) { return obstacle_after(*protocol, good, change); };
        EXPECT_EQ(after([](Situation& s) { s.same_node = s.shared_memory = false; }),
                  Reason::kOtherNode);
        EXPECT_EQ(after([](Situation& s) { s.ipc_enabled = false; }), Reason::kIpcOff);
        EXPECT_EQ(after([](Situation& s) { s.shared_memory = false; }), Reason::kNoSharedMemory);
        EXPECT_EQ(after([](Situation& s) { s.sender.on_device = false; }), Reason::kSenderHost);
        EXPECT_EQ(after([](Situation& s) { s.receiver.on_device = false; }), Reason::kReceiverHost);
        EXPECT_EQ(after([](Situation& s) { s.sender.contiguous = false; }), Reason::kSenderLayout);
        EXPECT_EQ(after([](Situation& s) { s.receiver.contiguous = false; }),
                  protocol == &ipc_get ? Reason::kNone : Reason::kReceiverLayout);
    }
}

// Kernels pack and unpack on the side that has the gaps, which has to be a device.
TEST(Ipc, GapsGoByKernels) {
    Situation situation = neighbours(1 << 20, true, true);
    situation.bounce = Reason::kDirect;
    EXPECT_EQ(obstacle(ipc_push, situation), Reason::kSenderContiguous);
    situation.sender.contiguous = false;
    EXPECT_EQ(obstacle(ipc_push, situation), Reason::kNone);
    EXPECT_EQ(obstacle(bounce, situation), Reason::kNone);
    situation.sender.maps = Reason::kSenderCannotOpen;
    EXPECT_EQ(obstacle(ipc_push, situation), Reason::kSenderCannotOpen);
    situation.sender.maps = Reason::kDirect;
    situation.receiver.contiguous = false;
    EXPECT_EQ(obstacle(ipc_push, situation), Reason::kReceiverLayout);
    EXPECT_EQ(obstacle(bounce, situation), Reason::kNone);
    situation.receiver.on_device = false;
    situation.receiver.pinned = true;
    EXPECT_EQ(obstacle(bounce, situation), Reason::kReceiverLayout);
    situation.sender.contiguous = true;
    EXPECT_EQ(obstacle(ipc_get, situation), Reason::kReceiverLayout);
    situation.receiver.contiguous = true;
    EXPECT_EQ(obstacle(ipc_get, situation), Reason::kNone);
}

TEST(Ipc, GetAndPutNeedOppositeThings) {
    const auto check = [](auto&& change, Reason get_says, Reason put_says) {
        EXPECT_EQ(obstacle_after(ipc_get, neighbours(1 << 20, true, true), change), get_says);
        EXPECT_EQ(obstacle_after(ipc_put, neighbours(1 << 20, true, true), change), put_says);
    };
    check([](Situation& s) { s.sender.exports = Reason::kNotExportable; }, Reason::kNotExportable,
          Reason::kNone);
    check([](Situation& s) { s.receiver.maps = Reason::kOpenFailed; }, Reason::kOpenFailed,
          Reason::kNone);
    check([](Situation& s) { s.receiver.exports = Reason::kExportFailed; }, Reason::kNone,
          Reason::kExportFailed);
    check([](Situation& s) { s.sender.maps = Reason::kSenderCannotOpen; }, Reason::kNone,
          Reason::kSenderCannotOpen);
}

TEST(Rdma, NamesTheFirstThingInTheWay) {
    Situation good = neighbours(1 << 20, true, true);
    good.same_node = good.shared_memory = false;
    good.rdma = Reason::kDirect;
    for (const Protocol* protocol : {&rdma_write, &rdma_read}) {
        EXPECT_EQ(obstacle(*protocol, good), Reason::kNone);
        const auto after = [&](auto&& change) { return obstacle_after(*protocol, good, change); };
        EXPECT_EQ(after([](Situation& s) { s.shared_memory = true; }), Reason::kSharedMemory);
        EXPECT_EQ(after([](Situation& s) { s.rdma = Reason::kRdmaFailed; }), Reason::kRdmaFailed);
        EXPECT_EQ(after([](Situation& s) { s.sender.contiguous = false; }), Reason::kSenderLayout);
        EXPECT_EQ(after([](Situation& s) { s.receiver.contiguous = false; }),
                  Reason::kReceiverLayout);
        EXPECT_EQ(after([](Situation& s) { s.sender.registers = Reason::kNotRegistered; }),
                  Reason::kNotRegistered);
        EXPECT_EQ(after([](Situation& s) { s.receiver.registers = Reason::kReceiverHost; }),
                  Reason::kReceiverHost);
        EXPECT_EQ(after([](Situation& s) { s.receiver.on_device = false; }), Reason::kNone);
    }
    good.sender.on_device = false;
    EXPECT_EQ(obstacle(rdma_write, good), Reason::kNone);
    EXPECT_EQ(obstacle(rdma_read, good), Reason::kSenderHost);
    good.receiver.on_device = false;
    EXPECT_EQ(obstacle(rdma_write, good), Reason::kHostMemory);
}

TEST(Staged, TakesWhateverHasADevice) {
    for (const bool from : {false, true}) {
        for (const bool to : {false, true}) {
            Situation situation = neighbours(1 << 20, from, to);
            situation.sender.contiguous = situation.receiver.contiguous = false;
            situation.shared_memory = false;
            EXPECT_EQ(obstacle(staged, situation),
                      from || to ? Reason::kNone : Reason::kHostMemory);
        }
    }
}

TEST(Staged, OverlapsItsStagesBeyondTheFirstChunk) {
    Costs costs;
    costs.host_copy = link_of(1000, 1000);  // 1 us and 1 us for 1000 bytes
    costs.shm = link_of(0, 1000000);
    costs.chunk = 10000;
    const Situation situation = neighbours(110000, true, true);
    // Both copies of the first chunk, then the slower stage for the other ten.
    EXPECT_NEAR(staged.estimate(situation, costs), 2 * (1 + 10) + 100, 0.01);
}

}  // namespace
}  // namespace beeline::protocol
