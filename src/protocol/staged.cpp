// SPDX-License-Identifier: BSD-3-Clause
// Any pair of memories, where there is no direct way: chunks through pinned host memory.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol staged{
    Id::kStaged,
    "staged",
    Stage::kOffer,
    Path::kStaged,
    "device memory on a side",
    "Chunks through pinned host memory: copies out, the wire and copies in overlap.",
    [](const Situation& situation, const Limits&) noexcept {
        return situation.same_process                                         ? Reason::kSameProcess
               : !situation.sender.on_device && !situation.receiver.on_device ? Reason::kHostMemory
                                                                              : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        // RTS, CTS, DATA and the chunk's way back; every stage costs the first chunk, the slowest
        // of them the rest.
        const Link& lane = costs.lane(situation.shared_memory);
        const std::size_t bytes = situation.bytes;
        const std::size_t first = std::min(bytes, costs.chunk);
        double time = 4 * lane.latency;
        double slowest = situation.shared_memory ? 0 : costs.ucx.per_byte;
        for (const Side* side : {&situation.sender, &situation.receiver}) {
            const Link& copy = side->on_device ? costs.host_copy : costs.shm;
            time += side->on_device ? copy.message(first) : copy.bytes(first);
            slowest = std::max(slowest, copy.per_byte);
        }
        if (!situation.shared_memory) {
            time += costs.ucx.bytes(first);
        }
        return time + static_cast<double>(bytes - first) * slowest;
    },
};

}  // namespace beeline::protocol
