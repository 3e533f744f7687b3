// SPDX-License-Identifier: BSD-3-Clause
// The decisions of select.hpp.
#include "protocol/select.hpp"

namespace beeline::protocol {

SendChoice choose_start(const SendFacts& facts, const Limits& limits) noexcept {
    if (facts.same_process) {
        return {Start::kSelf, Reason::kSameProcess};
    }
    const std::size_t eager = facts.on_device       ? limits.device_eager
                              : facts.shared_memory ? limits.eager
                                                    : limits.ucx_eager;
    if (facts.bytes <= eager) {
        return {facts.shared_memory ? Start::kEagerShm : Start::kEagerUcx, Reason::kSmall};
    }
    if (facts.shared_memory && !facts.on_device && facts.bytes <= limits.fragments) {
        return {Start::kFragments, Reason::kSmall};
    }
    if (facts.on_device || !facts.contiguous) {
        return {Start::kOffers, Reason::kNone};
    }
    return {Start::kUcxRendezvous, Reason::kHostMemory};
}

Reason ipc_offer(const IpcFacts& facts) noexcept {
    if (!facts.same_node) {
        return Reason::kOtherNode;
    }
    if (!facts.enabled) {
        return Reason::kIpcOff;
    }
    if (!facts.shared_memory) {
        return Reason::kNoSharedMemory;
    }
    return facts.exportable ? Reason::kDirect : Reason::kNotExportable;
}

Reason choose_pull(const ReceiveFacts& facts) noexcept {
    if (!facts.ipc_offered) {
        return Reason::kNone;  // the sender knows why
    }
    if (!facts.enabled) {
        return Reason::kIpcOff;
    }
    if (!facts.on_device) {
        return Reason::kReceiverHost;
    }
    return facts.contiguous ? Reason::kDirect : Reason::kReceiverLayout;
}

}  // namespace beeline::protocol
