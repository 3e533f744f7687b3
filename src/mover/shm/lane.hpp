// SPDX-License-Identifier: BSD-3-Clause
// Messages between the ranks of a node through shared memory: one queue per receiver, slots and
// chunks per sender.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
    std::uint16_t index = 0;         ///< of this process in the peer's directory
    std::uint64_t read[2] = {0, 0};  ///< what the peer had read of each queue when we last looked
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
        // The second line of a narrow cell is one miss more, those of a wide one are fetched ahead;
        // but there are fewer of these, so what has no data stays out of them.
        const std::size_t most = tail.empty() ? kNarrowBody : kOneLineBody;
        return head.size() + tail.size() <= most ? put<Queue::kNarrow>(to, head, tail)
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

    /// A block of ours for as long as the caller likes; false when none is idle. The receiver
    /// empties it with release_block.
    bool lease_block(std::uint32_t& index) noexcept;
    void return_block(std::uint32_t index) noexcept { free_blocks_.push_back(index); }
    /// The memory of a leased block; null while its receiver has not emptied it.
    std::byte* idle_block(std::uint32_t index) const noexcept {
        return own_.block(index).busy.load(std::memory_order_acquire) == 0 ? own_.block_body(index)
                                                                           : nullptr;
    }
    /// To be called before a message that names the filled block is sent, or has not been sent.
    void set_block(std::uint32_t index, bool filled) noexcept {
        own_.block(index).busy.store(filled ? 1 : 0, std::memory_order_relaxed);
    }

    /// Whether progress() would find a message.
    bool pending() const noexcept { return arrived<Queue::kNarrow>() || arrived<Queue::kWide>(); }
    /// Hands at most `limit` messages to `take(const Arrival&)`; their number. `take` may make
    /// progress again.
    template <class Take>
    int progress(int limit, Take&& take) noexcept {
        const int narrow = drain<Queue::kNarrow>(limit, take);
        return narrow + drain<Queue::kWide>(limit - narrow, take);
    }
    /// The same, to the receiver the lane was made with.
    int progress(int limit) noexcept;

    /// Looks for a damaged cell where the next message should be: without this a queue would stand
    /// still and nobody would know why. Logs who wrote it last, and passes over it.
    void check() noexcept;

    /// The memory of a sender's chunk; empty when the sender or the index is not valid.
    std::span<std::byte> chunk_of(std::uint32_t sender, std::uint32_t index) noexcept;
    /// Tells the sender that its chunk may be used again.
    void release_chunk(std::uint32_t sender, std::uint32_t index) noexcept;

    /// The same for a sender's block.
    std::span<std::byte> block_of(std::uint32_t sender, std::uint32_t index) noexcept;
    void release_block(std::uint32_t sender, std::uint32_t index) noexcept;

    /// Our slots and chunks, and those of a sender: for registration with CUDA.
    std::span<std::byte> payload() const noexcept { return own_.payload(); }
    std::span<std::byte> payload_of(std::uint32_t sender) noexcept;
    /// The nonce of the sender's segment, which its address carries too.
    std::uint64_t nonce_of(std::uint32_t sender) noexcept;
    /// The process id that the sender entered in our directory; 0 when there is none.
    std::int64_t pid_of(std::uint32_t sender) noexcept;

 private:
    Lane(Segment own, Receiver receiver) noexcept;
    static constexpr std::uint64_t kFull = UINT64_MAX;
    template <Queue kQueue>
    bool arrived() const noexcept {
        const std::uint64_t head = head_[static_cast<std::size_t>(kQueue)];
        return own_.cell<kQueue>(head).sequence.load(std::memory_order_acquire) == head + 1;
    }
    template <Queue kQueue>
    std::uint64_t claim(Link& to) noexcept;
    template <Queue kQueue>
    bool put(Link& to, std::span<const std::byte> head, std::span<const std::byte> tail) noexcept;
    template <Queue kQueue, class Take>
    int drain(int limit, Take& take) noexcept;
    template <Queue kQueue>
    void check_head() noexcept;
    template <class Take>
    void deliver_slot(const Cell& cell, Take& take) noexcept;
    void overlong(const Cell& cell, std::uint32_t bytes, std::size_t room) noexcept;
    Segment* named_slot(std::uint32_t sender, std::uint32_t slot) noexcept;
    Segment* segment_of(std::uint32_t sender) noexcept;

    Segment own_;
    Receiver receiver_;
    std::uint64_t head_[2] = {0, 0};  // next position to read, of each queue
    unsigned draining_[2] = {0, 0};   // depth of the calls that read it
    std::vector<std::uint32_t> free_slots_;
    std::vector<std::uint32_t> sent_slots_;  // a ring: oldest first, freed by their receivers
    std::size_t sent_begin_ = 0;
    std::size_t sent_count_ = 0;
    std::vector<std::uint32_t> free_blocks_;  // not leased; a receiver may still read the last used
    std::vector<std::unique_ptr<Segment>> senders_;  // by index in our directory
};

// Memory order: a sender fills the cell (and the slot it names) and then stores the cell's sequence
// with release; the receiver loads the sequence with acquire before it reads either. The receiver
// is done with cells before it stores how far it has read with release; a sender loads that with
// acquire before it fills one of them again. Slots and chunks are freed the same way. A sender
// looks at how far the receiver has read only when it would otherwise think the queue full, and the
// receiver never writes to a cell: so a train of messages costs a sender no load that misses.

template <Queue kQueue>
inline std::uint64_t Lane::claim(Link& to) noexcept {
    std::atomic<std::uint64_t>& tail = to.segment.tail<kQueue>();
    std::uint64_t& read = to.read[static_cast<std::size_t>(kQueue)];
    std::uint64_t position = tail.load(std::memory_order_relaxed);
    // Signed: `read` is newer than `position`, and others may have moved on in between.
    const auto cells = static_cast<std::int64_t>(to.segment.cells<kQueue>());
    do {
        if (static_cast<std::int64_t>(position - read) >= cells) {
            read = to.segment.read<kQueue>().load(std::memory_order_acquire);
            if (static_cast<std::int64_t>(position - read) >= cells) {
                return kFull;
            }
        }
    } while (!tail.compare_exchange_weak(position, position + 1, std::memory_order_relaxed));
    return position;
}

template <Queue kQueue>
inline bool Lane::put(Link& to, std::span<const std::byte> head,
                      std::span<const std::byte> tail) noexcept {
    const std::uint64_t position = claim<kQueue>(to);
    if (position == kFull) {
        return false;
    }
    Cell& cell = to.segment.cell<kQueue>(position);
    std::byte* body = Segment::body<kQueue>(cell);
    std::memcpy(body, head.data(), head.size());
    if (!tail.empty()) {
        std::memcpy(body + head.size(), tail.data(), tail.size());
    }
    cell.bytes = static_cast<std::uint32_t>(head.size() + tail.size()) & 0x7fffffffU;
    cell.in_slot = 0;
    cell.sender = to.index;
    cell.sequence.store(position + 1, std::memory_order_release);
    return true;
}

template <Queue kQueue, class Take>
inline int Lane::drain(int limit, Take& take) noexcept {
    constexpr auto kIndex = static_cast<std::size_t>(kQueue);
    constexpr std::size_t kRoom = kQueue == Queue::kNarrow ? kNarrowBody : kWideBody;
    int read = 0;
    for (; read < limit && arrived<kQueue>(); ++read) {
        Cell& cell = own_.cell<kQueue>(head_[kIndex]);
        ++head_[kIndex];  // first: `take` may make progress again
        ++draining_[kIndex];
        const std::uint32_t bytes = cell.bytes;  // read once: the peer could change it
        if (cell.in_slot != 0) {
            deliver_slot(cell, take);
        } else if (bytes <= kRoom) {
            take(Arrival{{Segment::body<kQueue>(cell), bytes}, cell.sender, 0, false});
        } else {
            overlong(cell, bytes, kRoom);
        }
        --draining_[kIndex];
    }
    // Within a call from `take`, cells before our head are still being read.
    if (read != 0 && draining_[kIndex] == 0) {
        own_.read<kQueue>().store(head_[kIndex], std::memory_order_release);
    }
    return read;
}

template <class Take>
inline void Lane::deliver_slot(const Cell& cell, Take& take) noexcept {
    const std::uint32_t sender = cell.sender;
    const std::uint32_t index = cell.slot;
    const std::uint32_t bytes = cell.bytes;
    Segment* from = named_slot(sender, index);
    if (from == nullptr) {
        return;
    }
    if (bytes <= from->geometry().slot_bytes) {
        take(Arrival{{from->slot_body(index), bytes}, sender, index, true});
    }
    from->slot(index).busy.store(0, std::memory_order_release);
}

}  // namespace beeline::mover::shm
