// SPDX-License-Identifier: BSD-3-Clause
// Devices, ports and events, over a libibverbs of the test's own.
#include "mover/verbs/device.hpp"

#include <gtest/gtest.h>

#include "support/log_capture.hpp"
#include "unit/mover/verbs/fake_verbs.hpp"

namespace beeline::mover::verbs {
namespace {

using test::FakeCard;
using test::FakeVerbs;

std::vector<std::string> names(const Devices& devices) {
    std::vector<std::string> list;
    for (const auto& port : devices.ports()) {
        list.push_back(port->name);
    }
    return list;
}

using Names = std::vector<std::string>;

TEST(Devices, EveryPortIsARail) {
    FakeVerbs verbs;
    verbs.add("mlx5_0", 2);
    FakeCard& down = verbs.add("mlx5_1");
    down.ports[0].attributes.state = IBV_PORT_DOWN;
    {
        Devices devices;
        ASSERT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kOk);
        EXPECT_EQ(names(devices), (Names{"mlx5_0:1", "mlx5_0:2", "mlx5_1:1"}));
        const Port& port = *devices.ports()[1];
        EXPECT_EQ(port.rail, 1U);
        EXPECT_EQ(port.number, 2);
        EXPECT_EQ(port.mtu, 4096U);
        EXPECT_EQ(port.speed, 100000U);
        EXPECT_EQ(port.layer, LinkLayer::kRoceV2);
        EXPECT_TRUE(port.up);
        EXPECT_EQ(port.pd, devices.ports()[0]->pd);
        EXPECT_EQ(port.device, 0U);
        EXPECT_FALSE(devices.ports()[2]->up) << "it may come up";
        EXPECT_EQ(devices.ports()[2]->device, 1U);
        EXPECT_EQ(verbs.lists(), 0) << "the list is given back";
    }
    EXPECT_EQ(down.opened, 0);
    EXPECT_EQ(down.pds, 0);
}

TEST(Devices, InfiniBandPortsHaveALid) {
    FakeVerbs verbs;
    FakeCard& card = verbs.add("mlx5_0");
    card.ports[0].attributes.link_layer = IBV_LINK_LAYER_INFINIBAND;
    card.ports[0].attributes.lid = 17;
    card.ports[0].attributes.active_speed = 128;
    card.ports[0].gids = {
        {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, IBV_GID_TYPE_IB}};
    Devices devices;
    ASSERT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kOk);
    EXPECT_EQ(devices.ports()[0]->layer, LinkLayer::kInfiniBand);
    EXPECT_EQ(devices.ports()[0]->lid, 17);
    EXPECT_EQ(devices.ports()[0]->speed, 400000U);
}

TEST(Devices, WithoutAnyTheMachineJustHasNone) {
    const test::LogCapture log(LogLevel::kWarning);
    FakeVerbs verbs;
    Devices devices;
    EXPECT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kNotFound);
    verbs.api().get_device_list = [](int*) -> ibv_device** {
        errno = ENOSYS;  // no kernel support
        return nullptr;
    };
    EXPECT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kNotFound);
    EXPECT_TRUE(log.lines().empty()) << "no reason to complain";
}

TEST(Devices, WhatIsNoChannelAdapterIsLeftAlone) {
    FakeVerbs verbs;
    verbs.add("iwarp0").device.transport_type = IBV_TRANSPORT_IWARP;
    verbs.add("efa0").device.node_type = IBV_NODE_UNSPECIFIED;
    FakeCard& good = verbs.add("mlx5_0");
    Devices devices;
    ASSERT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kOk);
    EXPECT_EQ(names(devices), Names{"mlx5_0:1"});
    EXPECT_EQ(good.opened, 1);
}

TEST(Devices, OneThatCannotBeOpenedIsToldOfAndLeftOut) {
    const test::LogCapture log(LogLevel::kWarning);
    FakeVerbs verbs;
    verbs.add("mlx5_0");
    verbs.add("mlx5_1");
    verbs.api().alloc_pd = [](ibv_context* context) -> ibv_pd* {
        static ibv_pd pd;
        pd.context = context;
        errno = ENOMEM;
        return FakeVerbs::name_of(context) == "mlx5_0" ? nullptr : &pd;
    };
    Devices devices;
    ASSERT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kOk);
    EXPECT_EQ(names(devices), Names{"mlx5_1:1"});
    EXPECT_EQ(devices.ports()[0]->rail, 0U);
    EXPECT_EQ(log.count("ibv_alloc_pd of mlx5_0 failed"), 1);
}

TEST(Devices, OnlyWhatTheUserNamesIsOpened) {
    FakeVerbs verbs;
    FakeCard& first = verbs.add("mlx5_0", 2);
    FakeCard& second = verbs.add("mlx5_1", 2);
    verbs.add("mlx5_2");
    Devices devices;
    DeviceWish wish;
    wish.devices = "mlx5_1:2,mlx5_2";
    ASSERT_EQ(devices.open(verbs.api(), wish, "/nowhere"), Status::kOk);
    EXPECT_EQ(names(devices), (Names{"mlx5_1:2", "mlx5_2:1"}));
    EXPECT_EQ(first.opened, 0);
    EXPECT_EQ(second.opened, 1);
    devices.close();
    wish.devices = "^mlx5_0:1,mlx5_1";
    ASSERT_EQ(devices.open(verbs.api(), wish, "/nowhere"), Status::kOk);
    EXPECT_EQ(names(devices), (Names{"mlx5_0:2", "mlx5_2:1"}));
    EXPECT_EQ(second.opened, 0);
}

TEST(Devices, TheListIsReadExactly) {
    EXPECT_TRUE(is_wished("", "mlx5_0", 1));
    EXPECT_TRUE(is_wished("mlx5_0", "mlx5_0", 2));
    EXPECT_FALSE(is_wished("mlx5_0", "mlx5_01", 1));
    EXPECT_FALSE(is_wished("mlx5_01", "mlx5_0", 1));
    EXPECT_TRUE(is_wished("a,mlx5_0:2", "mlx5_0", 2));
    EXPECT_FALSE(is_wished("a,mlx5_0:2", "mlx5_0", 1));
    EXPECT_FALSE(is_wished("mlx5_0:x", "mlx5_0", 1));
    EXPECT_FALSE(is_wished("^mlx5_0", "mlx5_0", 1));
    EXPECT_TRUE(is_wished("^mlx5_0", "mlx5_1", 1));
    EXPECT_TRUE(is_wished("^", "mlx5_1", 1));
}

TEST(Devices, APortWithoutAWishedAddressIsNotUsed) {
    const test::LogCapture log(LogLevel::kWarning);
    FakeVerbs verbs;
    FakeCard& first = verbs.add("mlx5_0");  // 10.0.0.1
    FakeCard& second = verbs.add("mlx5_1");
    second.ports[0].gids = {test::ipv4_gid(7, 2)};
    Devices devices;
    DeviceWish wish;
    wish.gid.subnet = parse_subnet("10.0.7.0/24").value();
    ASSERT_EQ(devices.open(verbs.api(), wish, "/nowhere"), Status::kOk);
    EXPECT_EQ(names(devices), Names{"mlx5_1:1"});
    EXPECT_EQ(devices.ports()[0]->device, 0U) << "no gap";
    EXPECT_EQ(first.opened, 0);
    EXPECT_EQ(log.count("none of the 1 addresses of mlx5_0:1"), 1);
}

TEST(Devices, EventsUpdateThePortAndAreAcknowledged) {
    const test::LogCapture log(LogLevel::kInfo);
    FakeVerbs verbs;
    FakeCard& first = verbs.add("mlx5_0", 2);
    FakeCard& second = verbs.add("mlx5_1");
    Devices devices;
    ASSERT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kOk);
    Event event;
    EXPECT_FALSE(devices.next_event(event)) << "must not block";
    first.push_event(IBV_EVENT_PORT_ERR, 2);
    second.push_event(IBV_EVENT_DEVICE_FATAL, 0);
    ASSERT_TRUE(devices.next_event(event));
    EXPECT_EQ(event.kind, EventKind::kPortDown);
    EXPECT_EQ(event.port, devices.ports()[1].get());
    EXPECT_FALSE(devices.ports()[1]->up);
    EXPECT_TRUE(devices.ports()[0]->up);
    ASSERT_TRUE(devices.next_event(event));
    EXPECT_EQ(event.kind, EventKind::kDeviceFatal);
    EXPECT_EQ(event.device, 1U);
    EXPECT_FALSE(devices.ports()[2]->up);
    EXPECT_FALSE(devices.next_event(event));
    first.push_event(IBV_EVENT_PORT_ACTIVE, 2);
    ASSERT_TRUE(devices.next_event(event));
    EXPECT_EQ(event.kind, EventKind::kPortUp);
    EXPECT_TRUE(devices.ports()[1]->up);
    EXPECT_EQ(verbs.unacknowledged(), 0);
    EXPECT_EQ(log.count("mlx5_0:2: an event"), 2);
}

TEST(Devices, ARefreshSeesTheNewAddress) {
    FakeVerbs verbs;
    FakeCard& card = verbs.add("mlx5_0");
    Devices devices;
    ASSERT_EQ(devices.open(verbs.api(), {}, "/nowhere"), Status::kOk);
    Port& port = *devices.ports()[0];
    card.ports[0].gids = {test::FakeGid(), test::ipv4_gid(9, 9)};
    card.ports[0].attributes.active_mtu = IBV_MTU_1024;
    EXPECT_EQ(devices.refresh(port), Status::kOk);
    EXPECT_EQ(port.gid_index, 1);
    EXPECT_EQ(port.gid[14], 9);
    EXPECT_EQ(port.mtu, 1024U);
    card.ports[0].gids.clear();
    EXPECT_EQ(devices.refresh(port), Status::kNotFound);
    EXPECT_FALSE(port.up) << "without an address it is of no use";
}

TEST(Api, IsComplete) {
    const Api* api = Api::load();
    if (api == nullptr) {
        GTEST_SKIP() << "no libibverbs.so.1 here";
    }
    EXPECT_NE(api->get_device_list, nullptr);
    EXPECT_NE(api->query_port, nullptr);
    EXPECT_NE(api->poll_cq, nullptr);
    EXPECT_EQ(Api::load(), api);
    Devices devices;  // whatever this machine has
    devices.open(*api, {});
}

}  // namespace
}  // namespace beeline::mover::verbs
