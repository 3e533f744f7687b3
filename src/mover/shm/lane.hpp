// SPDX-License-Identifier: BSD-3-Clause
// Messages between the ranks of a node through shared memory: one queue per receiver, slots and
// chunks per sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "mover/shm/segment.hpp"

namespace beeline::mover::shm {

/// A message as the receiver finds it: valid during the callback, or until release() of what was
/// kept.
struct Arrival {
    std::span<const std::byte> message;
    std::uint32_t sender = 0;  ///< index in our directory
    std::uint32_t slot = 0;    ///< the sender's slot that holds it, when in_slot
    bool in_slot = false;
};

/// Takes arrived messages; `message` must not be used after it returns.
struct Receiver {
    void (*arrived)(void* self, const Arrival& arrival) = nullptr;
    void* self = nullptr;
};

/// A peer's segment as we send to it.
struct Link {
    Segment segment;
    std::uint16_t index = 0;  ///< of this process in the peer's directory
};

/// The lane of one process. One caller at a time.
class Lane {
 public:
    /// Makes our segment. Errors as Segment::create.
    static Result<std::unique_ptr<Lane>> create(const Geometry& geometry,
                                                Receiver receiver) noexcept;

    const Location& location() const noexcept { return own_.location(); }
    const Geometry& geometry() const noexcept { return own_.geometry(); }

    /// Maps the peer's segment and enters ourselves in its directory. kUnreachable when it cannot
    /// be reached this way (other containers, other user), kNoMemory when its directory is full.
    Result<std::unique_ptr<Link>> connect(const Location& peer) noexcept;

    /// Largest message that travels in the queue itself, and largest in a slot.
    static constexpr std::size_t kInlineBytes = kWideBody;
    std::size_t slot_bytes() const noexcept { return own_.geometry().slot_bytes; }

    /// Sends a small message made of two parts. False when the queue is full: try again after
    /// progress.
    bool send_inline(Link& to, std::span<const std::byte> head,
                     std::span<const std::byte> tail) noexcept {
        return head.size() + tail.size() <= kNarrowBody ? put<Queue::kNarrow>(to, head, tail)
                                                        : put<Queue::kWide>(to, head, tail);
    }

    /// A free slot of ours to write a message into; null when all are in use.
    std::byte* take_slot(std::uint32_t& index) noexcept;
    /// Sends the message of `bytes` in slot `index`. False when the queue is full (the slot stays
    /// ours).
    bool send_slot(Link& to, std::uint32_t index, std::size_t bytes) noexcept;
    /// Gives back a slot that was not sent.
    void drop_slot(std::uint32_t index) noexcept;

    /// A free staging chunk of ours; null when all are in use. The receiver frees it with
    /// release_chunk.
    std::byte* take_chunk(std::uint32_t& index) noexcept;
    void drop_chunk(std::uint32_t index) noexcept;

    /// Reads at most `limit` messages; the number read.
    int progress(int limit) noexcept;

    /// The memory of a sender's chunk; empty when the sender or the index is not valid.
    std::span<std::byte> chunk_of(std::uint32_t sender, std::uint32_t index) noexcept;
    /// Tells the sender that its chunk may be used again.
    void release_chunk(std::uint32_t sender, std::uint32_t index) noexcept;

    /// Our slots and chunks, and those of a sender: for registration with CUDA.
    std::span<std::byte> payload() const noexcept { return own_.payload(); }
    std::span<std::byte> payload_of(std::uint32_t sender) noexcept;
    /// The nonce of the sender's segment, which its address carries too.
    std::uint64_t nonce_of(std::uint32_t sender) noexcept;
    /// The process id that the sender entered in our directory; 0 when there is none.
    std::int64_t pid_of(std::uint32_t sender) noexcept;

 private:
    Lane(Segment own, Receiver receiver) noexcept;
    template <Queue kQueue>
    Cell* claim(Link& to) noexcept;
    template <Queue kQueue>
    bool put(Link& to, std::span<const std::byte> head, std::span<const std::byte> tail) noexcept;
    template <Queue kQueue>
    int drain(int limit) noexcept;
    template <Queue kQueue>
    void repair(Cell& cell) noexcept;
    void publish(Link& to, Cell& cell) noexcept {
        cell.sender = to.index;
        const std::uint64_t position = cell.sequence.load(std::memory_order_relaxed);
        cell.sequence.store(position + 1, std::memory_order_release);
    }
    void deliver(const Cell& cell, std::size_t room) noexcept;
    Segment* segment_of(std::uint32_t sender) noexcept;

    Segment own_;
    Receiver receiver_;
    std::uint64_t head_[2] = {0, 0};  // next position to read, of each queue
    std::vector<std::uint32_t> free_slots_;
    std::vector<std::uint32_t> sent_slots_;  // a ring: oldest first, freed by their receivers
    std::size_t sent_begin_ = 0;
    std::size_t sent_count_ = 0;
    std::vector<std::unique_ptr<Segment>> senders_;  // by index in our directory
};

}  // namespace beeline::mover::shm
