// SPDX-License-Identifier: BSD-3-Clause
// What the user sets arrives.
#include "mover/verbs/parameters.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/log_capture.hpp"

namespace beeline::mover::verbs {
namespace {

config::Params with(const char* name, const char* value) {
    config::Params params;
    for (const config::Row& row : config::rows()) {
        if (std::string(row.component) == "pml" && std::string(row.name) == name) {
            EXPECT_EQ(config::set(params, row, value), Status::kOk) << name;
            return params;
        }
    }
    ADD_FAILURE() << name;
    return params;
}

TEST(RdmaParameters, TheDefaultsLetEverythingBeTried) {
    const config::Params params;
    const DeviceWish wish = device_wish(params);
    EXPECT_TRUE(wish.devices.empty());
    EXPECT_EQ(wish.gid.index, -1);
    EXPECT_EQ(wish.gid.version, 0);
    EXPECT_EQ(wish.gid.family, 0);
    EXPECT_FALSE(wish.gid.subnet.has_value());
    const RegionLimits limits = region_limits(params);
    EXPECT_EQ(limits.entries, 1024U);
    EXPECT_EQ(limits.bytes, std::uint64_t{64} << 30);
    EXPECT_TRUE(limits.allowed.dma_buf && limits.allowed.peer_memory);
    EXPECT_TRUE(limits.allowed.relaxed_ordering);
}

TEST(RdmaParameters, AddressesAreChosenAsWished) {
    EXPECT_EQ(device_wish(with("rdma_gid_index", "0")).gid.index, 0);
    EXPECT_EQ(device_wish(with("rdma_gid_index", "255")).gid.index, 255);
    EXPECT_EQ(device_wish(with("rdma_roce", "v1")).gid.version, 1);
    EXPECT_EQ(device_wish(with("rdma_roce", "v2")).gid.version, 2);
    EXPECT_EQ(device_wish(with("rdma_address", "ipv4")).gid.family, 4);
    EXPECT_EQ(device_wish(with("rdma_address", "ipv6")).gid.family, 6);
    EXPECT_EQ(device_wish(with("rdma_devices", "mlx5_0:1")).devices, "mlx5_0:1");
    EXPECT_EQ(device_wish(with("rdma_subnet", "10.9.0.0/16")).gid.subnet->bits, 112U);
    const test::LogCapture log(LogLevel::kError);
    EXPECT_FALSE(device_wish(with("rdma_subnet", "10.9.0.0")).gid.subnet.has_value());
    EXPECT_EQ(log.count("pml_beeline_rdma_subnet"), 1);
}

TEST(RdmaParameters, DistancesAreMeantAsTheyAreCalled) {
    EXPECT_EQ(farthest_port({}), topo::Distance::kNode);
    EXPECT_EQ(farthest_port(with("rdma_distance", "switch")), topo::Distance::kSwitch);
    EXPECT_EQ(farthest_port(with("rdma_distance", "switches")), topo::Distance::kSwitches);
    EXPECT_EQ(farthest_port(with("rdma_distance", "bridge")), topo::Distance::kHostBridge);
    EXPECT_EQ(farthest_port(with("rdma_distance", "system")), topo::Distance::kSystem);
}

TEST(RdmaParameters, MeansOfRegistrationAreChosenAsWished) {
    const Allowed dma_buf = region_limits(with("rdma_registration", "dma_buf")).allowed;
    EXPECT_TRUE(dma_buf.dma_buf && !dma_buf.peer_memory);
    const Allowed peer = region_limits(with("rdma_registration", "peer_memory")).allowed;
    EXPECT_TRUE(!peer.dma_buf && peer.peer_memory);
    const Allowed none = region_limits(with("rdma_registration", "none")).allowed;
    EXPECT_TRUE(!none.dma_buf && !none.peer_memory);
    EXPECT_EQ(region_limits(with("rdma_registrations", "7")).entries, 7U);
    EXPECT_EQ(region_limits(with("rdma_registered_bytes", "8M")).bytes, 8U << 20);
    EXPECT_FALSE(region_limits(with("rdma_relaxed_ordering", "false")).allowed.relaxed_ordering);
}

TEST(RdmaParameters, FlushesAreMadeAsWished) {
    const WriteOrdering ordered{200, 1};
    const WriteOrdering not_ordered{0, 1};
    const WriteOrdering old{200, 0};
    const config::Params by_device;
    EXPECT_EQ(flush_wanted(by_device, ordered, Reader::kOwner), Flush::kNone);
    EXPECT_EQ(flush_wanted(by_device, not_ordered, Reader::kOwner), Flush::kCall);
    const config::Params always = with("rdma_flush", "always");
    EXPECT_EQ(flush_wanted(always, ordered, Reader::kOwner), Flush::kCall);
    EXPECT_EQ(flush_wanted(always, old, Reader::kOwner), Flush::kRead);
    EXPECT_EQ(flush_wanted(with("rdma_flush", "never"), not_ordered, Reader::kOwner), Flush::kNone);
}

}  // namespace
}  // namespace beeline::mover::verbs
