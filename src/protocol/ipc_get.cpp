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
    "device memory at the sender, device or pinned memory at the receiver, in a node; the receiver "
    "can map the sender's memory, by its IPC handle or by descriptors (VMM, exportable pools)",
    "The receiver maps the sender's memory and copies out of it, once; by a kernel where its own "
    "data has gaps.",
    [](const Situation& situation, const Limits&) noexcept {
        const Reason ways = ipc_obstacle(situation, situation.receiver.pinned);
        return ways != Reason::kNone ? ways
               : !situation.sender.contiguous
                   ? Reason::kSenderLayout
                   : first_obstacle(situation.sender.exports, situation.receiver.maps);
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, the copy, FIN.
        const Link& copy = situation.receiver.on_device ? costs.device_copy : costs.host_copy;
        return 2 * costs.lane(situation.shared_memory).latency + costs.mapping +
               copy.message(situation.bytes);
    },
};

}  // namespace beeline::protocol
