// SPDX-License-Identifier: BSD-3-Clause
// What the protocols by RDMA have in common.
#pragma once

#include "protocol/protocol.hpp"

namespace beeline::protocol {

/// What keeps the network cards from moving the message between the two memories, or kNone. They
/// take host memory as well, but what has no device side goes by UCX.
inline Reason rdma_obstacle(const Situation& situation) noexcept {
    return situation.same_process                                         ? Reason::kSameProcess
           : situation.shared_memory                                      ? Reason::kSharedMemory
           : !situation.sender.on_device && !situation.receiver.on_device ? Reason::kHostMemory
           : situation.rdma != Reason::kDirect                            ? situation.rdma
           : !situation.sender.contiguous                                 ? Reason::kSenderLayout
           : !situation.receiver.contiguous                               ? Reason::kReceiverLayout
           : situation.sender.registers != Reason::kDirect   ? situation.sender.registers
           : situation.receiver.registers != Reason::kDirect ? situation.receiver.registers
                                                             : Reason::kNone;
}

}  // namespace beeline::protocol
