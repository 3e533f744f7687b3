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
    "device memory on a side, in a row; RDMA devices on both nodes that take both memories",
    "The sender's network card writes into the receive buffer, over several rails when it is "
    "large; no host copy, and the receiver's CPU has no part in it.",
    [](const Situation& situation, const Limits&) noexcept { return rdma_obstacle(situation); },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, the place to write to, and the write.
        return 2 * costs.ucx.latency + costs.rdma.message(situation.bytes);
    },
};

}  // namespace beeline::protocol
