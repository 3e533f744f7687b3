// SPDX-License-Identifier: BSD-3-Clause
// Between nodes, driven by the sender once the receiver has named the place.
#include "protocol/protocol.hpp"
#include "protocol/rdma.hpp"

namespace beeline::protocol {

constinit const Protocol rdma_write{
    Id::kRdmaWrite,
    "rdma_write",
    Stage::kOffer,
    Path::kRdma,
    "device memory on a side; RDMA devices on both nodes that take the receiver's memory, in a row",
    "The sender's network card writes into the receive buffer, over several rails when it is "
    "large; no host copy but at a sender whose own memory the card does not take, and the "
    "receiver's CPU has no part in it.",
    [](const Situation& situation, const Limits&) noexcept {
        return rdma_obstacle(situation, situation.sender);
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, the place to write to, and the write.
        return 2 * costs.ucx.latency + rdma_time(situation, situation.sender, costs.rdma, costs);
    },
};

}  // namespace beeline::protocol
