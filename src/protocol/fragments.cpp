// SPDX-License-Identifier: BSD-3-Clause
// Host messages of medium size in several slots of shared memory.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol fragments{
    Id::kFragments,
    "fragments",
    Stage::kStart,
    Path::kShm,
    "shared memory between the two, host data at the sender",
    "As eager_host, in several slots: one is emptied while the next is filled.",
    [](const Situation& situation, const Limits& limits) noexcept {
        return situation.same_process               ? Reason::kSameProcess
               : !situation.shared_memory           ? Reason::kNoSharedMemory
               : situation.sender.on_device         ? Reason::kSenderDevice
               : situation.bytes > limits.fragments ? Reason::kTooLarge
                                                    : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // The copies in and out overlap but for the first slot; a second header on the way.
        const std::size_t first = std::min(situation.bytes, costs.slot);
        double time = 2 * costs.shm.latency + costs.shm.bytes(situation.bytes + first);
        if (situation.receiver.on_device) {
            time += costs.host_copy.message(situation.bytes);
        }
        return time;
    },
};

}  // namespace beeline::protocol
