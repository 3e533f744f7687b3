// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps from device to device in a node: the kernel that packs it writes to the receiver.
#include "protocol/ipc.hpp"
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol ipc_push{
    Id::kIpcPush,
    "ipc_push",
    Stage::kOffer,
    Path::kCudaIpcPush,
    "device memory on both sides of a node, with gaps at the sender only; the sender can map the "
    "receiver's",
    "The sender maps the receive buffer's memory, and the kernel that packs the data writes there.",
    [](const Situation& situation, const Limits&) noexcept {
        const Reason ways = ipc_obstacle(situation);
        return ways != Reason::kNone         ? ways
               : situation.sender.contiguous ? Reason::kSenderContiguous
               : !situation.receiver.contiguous
                   ? Reason::kReceiverLayout
                   : first_obstacle(situation.receiver.exports, situation.sender.maps);
    },
    put_time,
};

}  // namespace beeline::protocol
