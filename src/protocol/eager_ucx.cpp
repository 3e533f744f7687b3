// SPDX-License-Identifier: BSD-3-Clause
// Small messages in one UCX active message.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

constinit const Protocol eager_ucx{
    Id::kEagerUcx,
    "eager_ucx",
    Stage::kStart,
    Path::kUcx,
    "another node, or no shared memory between the two",
    "Header and data travel in one UCX message, device data through host memory on both sides.",
    [](const Situation& situation, const Limits& limits) noexcept {
        const std::size_t limit = !situation.sender.on_device         ? limits.ucx_eager
                                  : situation.rdma == Reason::kDirect ? limits.device_eager
                                                                      : limits.device_ucx;
        return situation.same_process    ? Reason::kSameProcess
               : situation.shared_memory ? Reason::kSharedMemory
               : situation.bytes > limit ? Reason::kTooLarge
                                         : Reason::kNone;
    },
    [](const Situation& situation, const Costs& costs) noexcept {
        const std::size_t bytes = situation.bytes;
        const auto side = [&](const Side& each) {
            return each.on_device ? costs.host_copy.message(bytes) : costs.shm.bytes(bytes);
        };
        return costs.ucx.message(bytes) + side(situation.sender) + side(situation.receiver);
    },
};

}  // namespace beeline::protocol
