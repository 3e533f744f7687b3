// SPDX-License-Identifier: BSD-3-Clause
// A message of a process to itself: matched locally and copied once.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol self_copy{
    Id::kSelf,
    "self",
    Stage::kStart,
    Path::kSelf,
    "sender and receiver in one process",
    "The message is matched in the process and copied once, buffer to buffer.",
    [](const Situation& situation, const Limits&) noexcept {
        return situation.same_process ? Reason::kNone : Reason::kOtherProcess;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        const bool from = situation.sender.on_device;
        const bool to = situation.receiver.on_device;
        const Link& copy = from && to   ? costs.device_copy
                           : from || to ? costs.host_copy
                                        : costs.shm;
        return copy.message(situation.bytes);
    },
};

}  // namespace beeline::protocol
