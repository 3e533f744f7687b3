// SPDX-License-Identifier: BSD-3-Clause
// What the protocols by RDMA have in common.
#pragma once

#include "protocol/protocol.hpp"

namespace beeline::protocol {

/// Whether network cards reach the side's data itself.
inline bool is_reached(const Side& side) noexcept {
    return side.contiguous && side.registers == Reason::kDirect;
}

/// What keeps the network cards from moving the message between the two memories, or kNone. They
/// take host memory as well, but what has no device side goes by UCX. `driver` is the side that
/// writes or reads: it may do so by way of chunks of its own.
inline Reason rdma_obstacle(const Situation& situation, const Side& driver) noexcept {
    const auto reaches = [&](const Side& side, Reason layout) {
        return is_reached(side) || (&side == &driver && side.relays) ? Reason::kNone
               : !side.contiguous                                    ? layout
                                                                     : side.registers;
    };
    const Reason sender = reaches(situation.sender, Reason::kSenderLayout);
    return situation.same_process                                         ? Reason::kSameProcess
           : situation.shared_memory                                      ? Reason::kSharedMemory
           : !situation.sender.on_device && !situation.receiver.on_device ? Reason::kHostMemory
           : situation.rdma != Reason::kDirect                            ? situation.rdma
           : sender != Reason::kNone                                      ? sender
                                     : reaches(situation.receiver, Reason::kReceiverLayout);
}

/// Time of the message over `link`, driven by that side: through its chunks, copies and the network
/// overlap but for the first chunk.
inline double rdma_time(const Situation& situation, const Side& driver, const Link& link,
                        const Costs& costs) noexcept {
    double time = link.message(situation.bytes);
    if (!is_reached(driver)) {
        const Link& copy = driver.on_device ? costs.host_copy : costs.shm;
        const std::size_t first = std::min(situation.bytes, costs.chunk);
        time += copy.message(first) + static_cast<double>(situation.bytes - first) *
                                          std::max(0.0, copy.per_byte - link.per_byte);
    }
    return time;
}

}  // namespace beeline::protocol
