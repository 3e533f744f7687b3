// SPDX-License-Identifier: BSD-3-Clause
// Which protocol a message takes. Pure: decides from facts, touches nothing.
#pragma once

#include <cstddef>

#include "protocol/path.hpp"

namespace beeline::protocol {

/// What the sender starts with.
enum class Start {
    kSelf,           ///< same process: matched locally, copied once
    kEagerShm,       ///< header and data through the shared memory lane
    kFragments,      ///< the same, in several slots that are filled and emptied at the same time
    kEagerUcx,       ///< header and data in one UCX active message
    kUcxRendezvous,  ///< UCX fetches host memory straight into the receive buffer
    kOffers,         ///< an RTS with offers; the receiver chooses
};

/// What the sender knows of a message.
struct SendFacts {
    std::size_t bytes = 0;
    bool same_process = false;
    bool shared_memory = false;  ///< the peer's shared segment is mapped
    bool on_device = false;      ///< data that only the driver may touch
    bool contiguous = true;
};

/// Sizes that decide, from the parameters.
struct Limits {
    std::size_t eager = 0;
    std::size_t fragments = 0;  ///< host data through shared memory
    std::size_t ucx_eager = 0;
    std::size_t device_eager = 0;
};

struct SendChoice {
    Start start;
    Reason reason;  ///< kNone when the receiver's answer will tell
};

SendChoice choose_start(const SendFacts& facts, const Limits& limits) noexcept;

/// Whether the sender can offer its memory by CUDA IPC; the reason says why not, or kDirect.
struct IpcFacts {
    bool enabled = false;
    bool same_node = false;
    bool shared_memory = false;
    bool exportable = false;
};
Reason ipc_offer(const IpcFacts& facts) noexcept;

/// What the receiver makes of an RTS: kDirect means pull by IPC, anything else means staged, and
/// why.
struct ReceiveFacts {
    bool ipc_offered = false;
    bool enabled = false;
    bool on_device = false;
    bool contiguous = false;
};
Reason choose_pull(const ReceiveFacts& facts) noexcept;

}  // namespace beeline::protocol
