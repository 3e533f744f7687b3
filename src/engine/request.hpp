// SPDX-License-Identifier: BSD-3-Clause
// A send or a receive: what the caller gives, what the engine keeps, and how it ended.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "base/result.hpp"
#include "datatype/layout.hpp"
#include "match/matcher.hpp"
#include "memory/pointer.hpp"
#include "mover/cuda_ipc/handles.hpp"
#include "mover/cuda_ipc/ring.hpp"
#include "memory/copy.hpp"
#include "protocol/path.hpp"

namespace beeline::mover::verbs {
struct Region;
}

namespace beeline::engine {

class Engine;
struct Communicator;
struct Peer;

/// The memory of a message. The caller keeps it, and the layout, alive until the request is done.
struct Buffer {
    void* address = nullptr;  ///< of the first element; with no layout, of the first byte
    std::size_t bytes = 0;    ///< of data: what a send carries, what a receive has room for
    std::size_t count = 0;    ///< elements, when there is a layout
    const datatype::Layout* layout = nullptr;  ///< null: `bytes` bytes in a row at `address`
};

/// How a request ended.
struct Outcome {
    std::int32_t source = 0;  ///< of the message, for receives
    std::int32_t tag = 0;
    std::size_t bytes = 0;  ///< received
    Status status = Status::kOk;
    bool cancelled = false;
    protocol::Path path = protocol::Path::kNone;
    protocol::Reason reason = protocol::Reason::kNone;
};

/// Owned by the caller, who sets `done` and `owner`; must stay where it is until done is called.
/// May be used again afterwards.
struct Request : match::Posted, ListNode<> {
    /// Called once, possibly before the starting call returns. Must not throw; may start other
    /// requests and free this one.
    void (*done)(Request* request) = nullptr;
    void* owner = nullptr;
    Outcome outcome;

 private:
    friend class Engine;
    enum class Kind : std::uint8_t { kSend, kReceive };
    /// What a send expects from its receiver; anything else that names it is ignored.
    enum class Awaits : std::uint8_t {
        kNothing,
        kAck,     ///< sent whole, to be told of the match
        kAnswer,  ///< CTS, PUT, FIN or NACK to what was offered
        kPut,     ///< a receive: the sender writes, and says when it is done
        kRdma,    ///< a receive: the sender's network card writes
        kBlocks,  ///< a receive: the sender fills blocks of shared memory
    };

    Kind kind_ = Kind::kSend;
    Awaits awaits_ = Awaits::kNothing;
    bool synchronous_ = false;
    bool active_ = false;
    bool large_ = false;     // counted in Engine::large_
    bool cts_seen_ = false;  // staged transfer agreed
    bool driver_failed_ = false;
    bool looked_ = false;          // of a receive: where_ says what buffer_ is
    bool whole_ = false;           // staged transfer of host memory in one piece over UCX
    bool put_offered_ = false;     // the receiver may ask to be written to
    bool blocks_offered_ = false;  // or for the data in blocks of shared memory
    Communicator* communicator_ = nullptr;
    Peer* peer_ = nullptr;
    std::int32_t destination_ = 0;
    std::int32_t send_tag_ = 0;
    std::uint32_t sequence_ = 0;
    Buffer buffer_;
    memory::Pointer where_;
    std::byte* data_ =
        nullptr;  // contiguous bytes on the wire side: the buffer's own, or the bounce
    std::byte* bounce_ = nullptr;  // host memory for data that is not, or not contiguous
    bool lent_ = false;            // bounce_ is a chunk of the staging pool, else malloc'ed
    std::uint64_t id_ = 0;         // 0: not in the request table
    std::uint64_t remote_id_ = 0;
    std::size_t wanted_ = 0;    // bytes the rendezvous moves
    std::size_t started_ = 0;   // bytes handed to pieces, by either side
    std::size_t finished_ = 0;  // bytes whose piece is done
    std::uint32_t chunk_ = 0;
    std::uint32_t depth_ = 0;
    std::uint32_t pieces_ = 0;                   // pieces and UCX operations under way
    mover::cuda_ipc::Import* import_ = nullptr;  // of a receive: what it copies out of
    mover::cuda_ipc::Ring* ring_ = nullptr;      // of a send: the bounce buffer it was offered
    memory::AsyncCopy copy_;
    mover::verbs::Region* region_ = nullptr;  // registered memory; dropped when the request ends
    /// Of a receive that awaits kRdma: its immediate; of a send: that of the last write.
    std::uint32_t slot_ = 0;
};

}  // namespace beeline::engine
