// SPDX-License-Identifier: BSD-3-Clause
// Small device messages through a pinned slot of shared memory.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol eager_device{
    Id::kEagerDevice,
    "eager_device",
    Stage::kStart,
    Path::kShm,
    "shared memory between the two, device data at the sender",
    "The copy engine writes the data into a pinned slot of shared memory, the receiver's takes it "
    "out.",
    [](const Situation& situation, const Limits& limits) noexcept {
        return situation.same_process                  ? Reason::kSameProcess
               : !situation.shared_memory              ? Reason::kNoSharedMemory
               : !situation.sender.on_device           ? Reason::kSenderHost
               : situation.bytes > limits.device_eager ? Reason::kTooLarge
                                                       : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        return costs.shm.latency + costs.host_copy.message(situation.bytes) +
               (situation.receiver.on_device ? costs.host_copy.message(situation.bytes)
                                             : costs.shm.bytes(situation.bytes));
    },
};

}  // namespace beeline::protocol
