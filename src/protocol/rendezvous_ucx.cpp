// SPDX-License-Identifier: BSD-3-Clause
// Large host messages straight into the receive buffer.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol rendezvous_ucx{
    Id::kRendezvousUcx,
    "rendezvous_ucx",
    Stage::kStart,
    Path::kUcx,
    "host memory on both sides",
    "UCX fetches the data from the sender's buffer straight into the receive buffer.",
    [](const Situation& situation, const Limits&) noexcept {
        return situation.same_process         ? Reason::kSameProcess
               : situation.sender.on_device   ? Reason::kSenderDevice
               : situation.receiver.on_device ? Reason::kReceiverDevice
                                              : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // Announced, fetched, acknowledged.
        const Link& link = situation.shared_memory ? costs.cma : costs.ucx;
        return 2 * link.latency + link.message(situation.bytes);
    },
};

}  // namespace beeline::protocol
