// SPDX-License-Identifier: BSD-3-Clause
// Large host messages in blocks of shared memory, once the receiver has asked for them.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol rendezvous_shm{
    Id::kRendezvousShm,
    "rendezvous_shm",
    Stage::kStart,
    Path::kShm,
    "shared memory between the two, host memory on both sides",
    "Announced and asked for; then the sender fills blocks of shared memory while the receiver "
    "empties others.",
    [](const Situation& situation, const Limits& limits) noexcept {
        return situation.same_process                    ? Reason::kSameProcess
               : !situation.shared_memory                ? Reason::kNoSharedMemory
               : situation.sender.on_device              ? Reason::kSenderDevice
               : situation.receiver.on_device            ? Reason::kReceiverDevice
               : situation.bytes > limits.rendezvous_shm ? Reason::kTooLarge
                                                         : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, CTS and the first block; the copies in and out overlap but for that.
        const std::size_t first = std::min(situation.bytes, costs.block);
        return 3 * costs.shm.latency + costs.shm.bytes(situation.bytes + first);
    },
};

}  // namespace beeline::protocol
