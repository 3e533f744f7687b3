// SPDX-License-Identifier: BSD-3-Clause
// Device to device in a node, driven by the sender once the receiver has named the place.
#include "protocol/ipc.hpp"
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol ipc_put{
    Id::kIpcPut,
    "ipc_put",
    Stage::kOffer,
    Path::kCudaIpcPut,
    "device memory on both sides of a node; the sender can map the receiver's",
    "The sender maps the receive buffer's memory and copies into it, once; for memory that the "
    "receiver cannot map or that cannot be exported.",
    [](const Situation& situation, const Limits&) noexcept {
        const Reason ways = ipc_obstacle(situation);
        return ways != Reason::kNone          ? ways
               : !situation.sender.contiguous ? Reason::kSenderLayout
               : !situation.receiver.contiguous
                   ? Reason::kReceiverLayout
                   : first_obstacle(situation.receiver.exports, situation.sender.maps);
    },
    put_time,
};

}  // namespace beeline::protocol
