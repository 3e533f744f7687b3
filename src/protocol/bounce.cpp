// SPDX-License-Identifier: BSD-3-Clause
// Device to device in a node through a buffer on the sender's device that the receiver can map.
#include "protocol/ipc.hpp"
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol bounce{
    Id::kBounce,
    "bounce",
    Stage::kOffer,
    Path::kCudaBounce,
    "device memory at the sender, in a node; the receiver can map the sender's bounce buffer",
    "Chunks through a buffer on the sender's device, for memory that cannot be mapped and data "
    "with "
    "gaps on both sides: two copies, in overlap.",
    [](const Situation& situation, const Limits&) noexcept {
        const Reason ways = ipc_obstacle(situation, situation.receiver.pinned);
        return ways != Reason::kNone                 ? ways
               : situation.bounce != Reason::kDirect ? situation.bounce
                                                     : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, CTS, DATA and the slot's way back; both copies for the first chunk, the slower for
        // the rest.
        const Link& out = situation.receiver.on_device ? costs.device_copy : costs.host_copy;
        const std::size_t first = std::min(situation.bytes, costs.bounce_chunk);
        return 4 * costs.lane(situation.shared_memory).latency + costs.mapping +
               costs.device_copy.message(first) + out.message(first) +
               static_cast<double>(situation.bytes - first) *
                   std::max(costs.device_copy.per_byte, out.per_byte);
    },
};

}  // namespace beeline::protocol
