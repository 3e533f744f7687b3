// SPDX-License-Identifier: BSD-3-Clause
// Which protocol a message takes: of those that are possible the one with the smallest estimate.
// Pure: decides from facts, touches nothing.
#pragma once

#include <array>
#include <cstddef>

#include "protocol/protocol.hpp"

namespace beeline::protocol {

/// pml_beeline_protocol, in the order of its words.
enum class Preference {
    kAuto,
    kEager,
    kFragments,
    kRendezvous,
    kIpcGet,
    kIpcPut,
    kStaged,
    kBounce,
    kRdmaWrite,
    kRdmaRead,
    kRendezvousShm,
    kRendezvousUcx,
    kIpcPush
};

/// A protocol as seen by one message.
struct Candidate {
    const Protocol* protocol = nullptr;
    Reason obstacle = Reason::kNone;  ///< kNone: possible
    double microseconds = 0;          ///< estimate; meaningful when possible
};
using Candidates = std::array<Candidate, kProtocols>;

/// All protocols, in table order.
Candidates candidates(const Situation& situation, const Limits& limits,
                      const Costs& costs) noexcept;

/// The cheapest of those that are possible; of equals the first. There always is one: a message of
/// a process to itself goes by self, others by eager_ucx, rendezvous_ucx or staged if nothing else.
const Candidate* cheapest(const Candidates& all) noexcept;

/// What the receiver takes of the protocols that start with an RTS. `costs` and `preference` are
/// its own; the situation comes from the offers. Null when neither side's memory is on a device.
const Protocol* choose_offer(const Situation& situation, const Costs& costs,
                             Preference preference) noexcept;

/// The limits in force. One that the user has set stands; others end where the next protocol is
/// estimated to be faster, if that is earlier.
Limits limits_of(const config::Params& params) noexcept;
Preference preference_of(const config::Params& params) noexcept;

/// What the sender starts with.
enum class Start {
    kSelf,           ///< same process: matched locally, copied once
    kEagerShm,       ///< header and data through the shared memory lane
    kFragments,      ///< the same, in several slots that are filled and emptied at the same time
    kShmRendezvous,  ///< an RTS; once asked for, blocks of shared memory are filled and emptied
    kEagerUcx,       ///< header and data in one UCX active message, or one SEND by RDMA
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
    bool rdma = false;  ///< both ends have network cards that reach device memory
};

struct SendChoice {
    Start start;
    Reason reason;  ///< kNone when the receiver's answer will tell
};

/// The table's answer for what the sender knows, as comparisons with the limits in force.
SendChoice choose_start(const SendFacts& facts, const Limits& limits) noexcept;

/// Both steps for a message of which both sides are known.
const Protocol& choose(const Situation& situation, const Limits& limits, const Costs& costs,
                       Preference preference) noexcept;

/// Whether the sender can offer its memory by CUDA IPC; the reason says why not, or kDirect.
struct IpcFacts {
    bool enabled = false;
    bool same_node = false;
    bool shared_memory = false;
    bool exportable = false;
};
Reason ipc_offer(const IpcFacts& facts) noexcept;

}  // namespace beeline::protocol
