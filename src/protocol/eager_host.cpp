// SPDX-License-Identifier: BSD-3-Clause
// Small host messages in a slot of shared memory.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol eager_host{
    Id::kEagerHost,
    "eager_host",
    Stage::kStart,
    Path::kShm,
    "shared memory between the two, host data at the sender",
    "The sender copies the data behind the header into a shared memory slot, the receiver out of "
    "it.",
    [](const Situation& situation, const Limits& limits) noexcept {
        return situation.same_process           ? Reason::kSameProcess
               : !situation.shared_memory       ? Reason::kNoSharedMemory
               : situation.sender.on_device     ? Reason::kSenderDevice
               : situation.bytes > limits.eager ? Reason::kTooLarge
                                                : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        const Link& out = situation.receiver.on_device ? costs.host_copy : costs.shm;
        return costs.shm.message(situation.bytes) + out.bytes(situation.bytes) +
               (situation.receiver.on_device ? out.latency : 0);
    },
};

}  // namespace beeline::protocol
