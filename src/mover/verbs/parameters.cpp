// SPDX-License-Identifier: BSD-3-Clause
// From params.def to plain values.
#include "mover/verbs/parameters.hpp"

#include "base/log.hpp"

namespace beeline::mover::verbs {
namespace {

// The places of the words in params.def.
enum Registration : int { kAny, kDmaBufOnly, kPeerMemoryOnly };
enum FlushChoice : int { kAuto, kAlways, kNever };
constexpr int kChosen = 256;  // rdma_gid_index: no row in particular

}  // namespace

DeviceWish device_wish(const config::Params& params) {
    DeviceWish wish;
    wish.devices = params.pml_rdma_devices.data();
    wish.gid.index = params.pml_rdma_gid_index == kChosen ? -1 : params.pml_rdma_gid_index;
    wish.gid.version = params.pml_rdma_roce;  // 0 any, 1, 2
    constexpr int kFamilies[] = {0, 4, 6};
    wish.gid.family = kFamilies[params.pml_rdma_address];
    if (const char* text = params.pml_rdma_subnet.data(); *text != '\0') {
        if (const Result<Subnet> subnet = parse_subnet(text); subnet) {
            wish.gid.subnet = subnet.value();
        } else {
            log(LogLevel::kError,
                "parameter pml_beeline_rdma_subnet: '%s' is ignored; expected an address and a "
                "number of bits, as 10.9.0.0/16 or fd00:9::/64",
                text);
        }
    }
    return wish;
}

topo::Distance farthest_port(const config::Params& params) noexcept {
    constexpr topo::Distance kDistances[] = {topo::Distance::kNode, topo::Distance::kSwitch,
                                             topo::Distance::kSwitches, topo::Distance::kHostBridge,
                                             topo::Distance::kSystem};
    return kDistances[params.pml_rdma_distance];
}

RegionLimits region_limits(const config::Params& params) noexcept {
    RegionLimits limits;
    limits.entries = static_cast<std::size_t>(params.pml_rdma_registrations);
    limits.bytes = params.pml_rdma_registered_bytes;
    const int choice = params.pml_rdma_registration;
    limits.allowed.dma_buf = choice == kAny || choice == kDmaBufOnly;
    limits.allowed.peer_memory = choice == kAny || choice == kPeerMemoryOnly;
    limits.allowed.relaxed_ordering = params.pml_rdma_relaxed_ordering;
    return limits;
}

Flush flush_wanted(const config::Params& params, const WriteOrdering& device,
                   Reader reader) noexcept {
    switch (params.pml_rdma_flush) {
        case kNever:
            return Flush::kNone;
        case kAlways:
            return flush_needed({0, device.flush_options}, reader);
        default:
            return flush_needed(device, reader);
    }
}

}  // namespace beeline::mover::verbs
