// SPDX-License-Identifier: BSD-3-Clause
// Device to device in a node, driven by the receiver.
#include "protocol/ipc.hpp"
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol ipc_get{
    Id::kIpcGet,
    "ipc_get",
    Stage::kOffer,
    Path::kCudaIpc,
    "device memory on both sides of a node; the receiver can map the sender's",
    "The receiver maps the sender's memory and copies out of it, once.",
    [](const Situation& situation, const Limits&) noexcept {
        const Reason ways = ipc_obstacle(situation);
        return ways != Reason::kNone
                   ? ways
                   : first_obstacle(situation.sender.exports, situation.receiver.maps);
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, the copy, FIN.
        return 2 * costs.lane(situation.shared_memory).latency + costs.mapping +
               costs.device_copy.message(situation.bytes);
    },
};

}  // namespace beeline::protocol
