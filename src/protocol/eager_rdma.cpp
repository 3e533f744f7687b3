// SPDX-License-Identifier: BSD-3-Clause
// Small messages between nodes in one SEND.
#include "protocol/protocol.hpp"
#include "protocol/rdma.hpp"

namespace beeline::protocol {

constinit const Protocol eager_rdma{
    Id::kEagerRdma,
    "eager_rdma",
    Stage::kStart,
    Path::kRdma,
    "RDMA devices on both nodes, and a connection that has been tested",
    "The sender's network card gathers header and data, from device memory where it takes that; "
    "the receiver copies them out of pinned memory. The first message of device memory, which "
    "makes the connection, goes by UCX; host memory goes this way where there is one.",
    [](const Situation& situation, const Limits& limits) noexcept {
        const std::size_t limit = limits.eager_rdma(situation.sender.on_device);
        return situation.same_process              ? Reason::kSameProcess
               : situation.shared_memory           ? Reason::kSharedMemory
               : situation.rdma != Reason::kDirect ? situation.rdma
               : situation.bytes > limit           ? Reason::kTooLarge
                                                   : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        const std::size_t bytes = situation.bytes;
        return costs.rdma.message(bytes) +
               (is_reached(situation.sender) ? 0 : costs.host_copy.message(bytes)) +
               (situation.receiver.on_device ? costs.host_copy.message(bytes)
                                             : costs.shm.bytes(bytes));
    },
};

}  // namespace beeline::protocol
