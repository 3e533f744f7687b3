// SPDX-License-Identifier: BSD-3-Clause
// A protocol as a value: what it needs of both sides, its limits, what it is expected to cost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/cost.hpp"
#include "protocol/path.hpp"

namespace beeline::protocol {

/// In the order of the table: of two that cost the same, the earlier is taken.
enum class Id : std::uint8_t {
    kSelf,
    kEagerHost,
    kFragments,
    kRendezvousShm,
    kEagerDevice,
    kEagerRdma,
    kEagerUcx,
    kRendezvousUcx,
    kIpcGet,
    kIpcPut,
    kIpcPush,
    kBounce,
    kRdmaWrite,
    kRdmaRead,
    kStaged,
};
inline constexpr std::size_t kProtocols = 15;

/// One side of a message. A reason is kDirect, or says what is in the way.
struct Side {
    bool on_device = false;                   ///< data that only the driver may touch
    bool pinned = false;                      ///< host memory that the driver can copy into
    bool contiguous = true;                   ///< one run of bytes
    Reason exports = Reason::kNotExportable;  ///< its memory can be mapped by a process of the node
    Reason maps = Reason::kDirect;            ///< it can map the other side's memory
    Reason registers = Reason::kDirect;       ///< its memory can be registered with RDMA devices
    bool relays = false;                      ///< where not: pinned chunks of its own can be
};

/// A message between two processes. Both sides of it, looking at the same offers, see the same.
struct Situation {
    std::size_t bytes = 0;
    bool same_process = false;
    bool same_node = false;
    bool shared_memory = false;           ///< the two have a shared memory lane
    bool ipc_enabled = true;              ///< pml_beeline_cuda_ipc, on both sides
    Reason bounce = Reason::kNotOffered;  ///< kDirect: a bounce buffer at the sender can be mapped
    Reason rdma = Reason::kNotOffered;    ///< kDirect: the two can have a connection by RDMA
    Side sender;
    Side receiver;
};

/// The largest messages, from the parameters.
struct Limits {
    std::size_t eager = 0;
    std::size_t fragments = 0;  ///< host data through shared memory
    std::size_t ucx_eager = 0;
    std::size_t device_eager = 0;
    std::size_t rendezvous_shm = 0;  ///< host data through shared memory, once it is asked for
    std::size_t device_ucx = 0;      ///< device data to another node that no network card reaches

    /// Of what goes by RDMA without a rendezvous, from either kind of memory.
    std::size_t eager_rdma(bool on_device) const noexcept {
        return on_device ? device_eager : std::min(device_eager, ucx_eager);
    }
};

/// Who decides for a protocol, and when.
enum class Stage : std::uint8_t {
    kStart,  ///< the sender, which then has all it needs
    kOffer,  ///< the receiver, from what the sender offers in an RTS
};

struct Protocol {
    Id id;
    const char* name;  ///< as in "ipc_get": also the word for pml_beeline_protocol
    Stage stage;
    Path path;          ///< how reports count it
    const char* needs;  ///< of both sides, as a phrase
    const char* does;   ///< one sentence
    /// kNone when the message can go this way, otherwise why not.
    Reason (*obstacle)(const Situation& situation, const Limits& limits) noexcept;
    /// Microseconds from the start of the send until the receiver has the data, where possible.
    double (*estimate)(const Situation& situation, const Costs& costs) noexcept;
};

extern const Protocol self_copy;
extern const Protocol eager_host;
extern const Protocol fragments;
extern const Protocol rendezvous_shm;
extern const Protocol eager_device;
extern const Protocol eager_rdma;
extern const Protocol eager_ucx;
extern const Protocol rendezvous_ucx;
extern const Protocol ipc_get;
extern const Protocol ipc_put;
extern const Protocol ipc_push;
extern const Protocol bounce;
extern const Protocol rdma_write;
extern const Protocol rdma_read;
extern const Protocol staged;

/// All protocols, by id.
std::span<const Protocol* const, kProtocols> table() noexcept;

inline const Protocol& get(Id id) noexcept {
    return *table()[static_cast<std::size_t>(id)];
}

}  // namespace beeline::protocol
