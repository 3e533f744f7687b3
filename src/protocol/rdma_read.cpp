// SPDX-License-Identifier: BSD-3-Clause
// Between nodes, driven by the receiver.
#include "protocol/protocol.hpp"
#include "protocol/rdma.hpp"

namespace beeline::protocol {

constinit const Protocol rdma_read{
    Id::kRdmaRead,
    "rdma_read",
    Stage::kOffer,
    Path::kRdma,
    "device memory at the sender, in a row; RDMA devices on both nodes that take it",
    "The receiver's network card reads the sender's memory; no host copy but at a receiver whose "
    "own memory the card does not take, and the sender's CPU has no part in it.",
    [](const Situation& situation, const Limits&) noexcept {
        return !situation.sender.on_device ? Reason::kSenderHost
                                           : rdma_obstacle(situation, situation.receiver);
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS and the read.
        return costs.ucx.latency + rdma_time(situation, situation.receiver, costs.rdma_read, costs);
    },
};

}  // namespace beeline::protocol
