// SPDX-License-Identifier: BSD-3-Clause
// What the protocols over mapped device memory have in common.
#pragma once

#include "protocol/protocol.hpp"

namespace beeline::protocol {

/// What keeps two processes from mapping each other's memory at all, or kNone. `pinned`: the
/// receive buffer is host memory that the driver can copy into, which will do. Data with gaps is
/// moved by a kernel of the side it lies on, so what it leaves or enters there is a device.
inline Reason ipc_obstacle(const Situation& situation, bool pinned = false) noexcept {
    return situation.same_process                      ? Reason::kSameProcess
           : !situation.same_node                      ? Reason::kOtherNode
           : !situation.ipc_enabled                    ? Reason::kIpcOff
           : !situation.shared_memory                  ? Reason::kNoSharedMemory
           : !situation.sender.on_device               ? Reason::kSenderHost
           : !(situation.receiver.on_device || pinned) ? Reason::kReceiverHost
           : !situation.receiver.on_device && !situation.receiver.contiguous
               ? Reason::kReceiverLayout
               : Reason::kNone;
}

/// The first of the two that is not kDirect, or kNone.
inline Reason first_obstacle(Reason exports, Reason maps) noexcept {
    return exports != Reason::kDirect ? exports : maps != Reason::kDirect ? maps : Reason::kNone;
}

/// What the sender moves into the receiver's memory: RTS, PUT, the copy, or the kernel, which
/// starts and ends as a copy does, and word of its end.
inline double put_time(const Situation& situation, const Costs& costs) noexcept {
    return 3 * costs.lane(situation.shared_memory).latency + costs.mapping +
           costs.device_copy.message(situation.bytes);
}

}  // namespace beeline::protocol
