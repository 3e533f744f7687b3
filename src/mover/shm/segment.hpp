// SPDX-License-Identifier: BSD-3-Clause
// A rank's shared memory: the queue its local peers write to, and the slots and chunks it sends
// from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace beeline::mover::shm {

/// One message, or the name of a slot that holds it. There are two queues of cells: narrow ones, so
/// that the processor's prefetchers run ahead of a train of small messages (an 8-byte MPI message
/// fits the first cache line), and wide ones, which spare messages up to 2 KiB the second
/// memory access of a slot. Messages may overtake each other between them: sequence numbers put
/// them in order.
struct alignas(128) Cell {
    std::atomic<std::uint64_t> sequence;  ///< position + 1 once filled; 0 before the first time
    std::uint16_t sender;                 ///< index in the receiver's directory
    std::uint16_t slot;                   ///< the sender's slot, when in_slot
    std::uint32_t bytes : 31;             ///< of the message
    std::uint32_t in_slot : 1;            ///< it is in a slot rather than in `body`
    std::byte body[112];                  ///< of a narrow cell
};
static_assert(sizeof(Cell) == 128);
inline constexpr std::size_t kNarrowBody = sizeof(Cell::body);
inline constexpr std::size_t kOneLineBody = 64 - offsetof(Cell, body);
/// A wide cell's message, and a slot's, starts here, so that what follows the 40 bytes of an MPI
/// message's header starts a cache line.
inline constexpr std::size_t kWideStart = 24;
inline constexpr std::size_t kWideCell = 2176;
inline constexpr std::size_t kWideBody = kWideCell - kWideStart;
inline constexpr std::uint32_t kWideCells = 128;

/// Which of the two queues.
enum class Queue : std::uint8_t { kNarrow, kWide };

/// A sender's eager slot; the message starts kWideStart bytes from its own start. The receiver
/// frees it.
struct alignas(64) Slot {
    std::atomic<std::uint32_t> busy;
    std::byte start[60];
};
static_assert(sizeof(Slot) == 64);

/// A local peer that has sent to this rank: where to find its segment.
struct Sender {
    std::atomic<std::uint64_t> ready;  ///< 1 once the fields are written
    std::int64_t pid;
    std::uint64_t start_time;
    std::uint64_t nonce;
    std::int32_t descriptor;
    std::int32_t padding;
};

inline constexpr std::uint32_t kMaxSenders = 4096;
inline constexpr std::uint32_t kMaxChunks = 256;
inline constexpr std::uint32_t kMaxBlocks = 1024;

/// The sizes of a segment, written once at its start and checked by everyone who maps it.
struct Geometry {
    std::uint32_t cells = 0;  ///< a power of two
    std::uint32_t slots = 0;
    std::uint32_t slot_bytes = 0;  ///< room for a message in a slot, a multiple of 64
    std::uint32_t chunks = 0;
    std::uint32_t chunk_bytes = 0;  ///< a multiple of the page size
    std::uint32_t blocks = 0;
    std::uint32_t block_bytes = 0;  ///< a multiple of 64
    bool operator==(const Geometry&) const = default;
};

struct Header {
    std::uint64_t magic;
    std::uint64_t
        nonce;  ///< random, published with the address: tells this segment from a stranger's
    Geometry geometry;
    /// [queue][0]: next position a sender takes
    alignas(64) std::atomic<std::uint64_t> tail[2][8];
    /// [queue][0]: everything before this position has been read: its cell may be filled again
    alignas(64) std::atomic<std::uint64_t> read[2][8];
    alignas(64) std::atomic<std::uint32_t> senders;
    alignas(64) std::atomic<std::uint32_t> chunk_busy[kMaxChunks];  ///< set by the owner, freed by
                                                                    ///< the receiver
};

/// Where a segment can be opened from: /proc/<pid>/fd/<descriptor>. Nothing has a name in a file
/// system, so nothing is left behind, whatever happens to the process.
struct Location {
    bool operator==(const Location&) const = default;
    std::int64_t pid = 0;
    std::uint64_t start_time = 0;
    std::uint64_t nonce = 0;
    std::int32_t descriptor = -1;
};

/// A mapped segment, our own or a peer's. Move-only.
class Segment {
 public:
    Segment() = default;
    /// Makes this process's segment in a memfd. Pages are committed when touched.
    static Result<Segment> create(const Geometry& geometry) noexcept;
    /// Maps a peer's. kUnreachable when it cannot be opened; kInvalid when what is there is not the
    /// segment that `where` names.
    static Result<Segment> open(const Location& where) noexcept;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    explicit operator bool() const noexcept { return base_ != nullptr; }
    const Location& location() const noexcept { return location_; }
    const Geometry& geometry() const noexcept { return geometry_; }
    Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
    Sender& sender(std::uint32_t index) const noexcept {
        return reinterpret_cast<Sender*>(base_ + senders_offset_)[index];
    }
    template <Queue kQueue>
    Cell& cell(std::uint64_t position) const noexcept {
        if constexpr (kQueue == Queue::kNarrow) {
            return reinterpret_cast<Cell*>(base_ + cells_offset_)[position & (geometry_.cells - 1)];
        } else {
            return *reinterpret_cast<Cell*>(base_ + wide_offset_ +
                                            (position & (kWideCells - 1)) * kWideCell);
        }
    }
    template <Queue kQueue>
    std::uint64_t cells() const noexcept {
        return kQueue == Queue::kNarrow ? geometry_.cells : kWideCells;
    }
    template <Queue kQueue>
    std::atomic<std::uint64_t>& tail() const noexcept {
        return header().tail[static_cast<std::size_t>(kQueue)][0];
    }
    template <Queue kQueue>
    std::atomic<std::uint64_t>& read() const noexcept {
        return header().read[static_cast<std::size_t>(kQueue)][0];
    }
    template <Queue kQueue>
    static std::byte* body(Cell& cell) noexcept {
        return reinterpret_cast<std::byte*>(&cell) +
               (kQueue == Queue::kNarrow ? offsetof(Cell, body) : kWideStart);
    }
    Slot& slot(std::uint32_t index) const noexcept {
        return *reinterpret_cast<Slot*>(base_ + slots_offset_ +
                                        index * (sizeof(Slot) + geometry_.slot_bytes));
    }
    std::byte* slot_body(std::uint32_t index) const noexcept {
        return reinterpret_cast<std::byte*>(&slot(index)) + kWideStart;
    }
    std::byte* chunk(std::uint32_t index) const noexcept {
        return base_ + chunks_offset_ + std::size_t{index} * geometry_.chunk_bytes;
    }
    /// A block's busy flag and its memory.
    Slot& block(std::uint32_t index) const noexcept {
        return *reinterpret_cast<Slot*>(
            base_ + blocks_offset_ + index * (sizeof(Slot) + std::size_t{geometry_.block_bytes}));
    }
    std::byte* block_body(std::uint32_t index) const noexcept {
        return reinterpret_cast<std::byte*>(&block(index)) + sizeof(Slot);
    }
    /// Slots and chunks: what a copy engine reads and writes. Page-aligned.
    std::span<std::byte> payload() const noexcept {
        return {base_ + slots_offset_, blocks_offset_ - slots_offset_};
    }

 private:
    void lay_out() noexcept;

    std::byte* base_ = nullptr;
    std::size_t total_ = 0;
    std::size_t senders_offset_ = 0;
    std::size_t cells_offset_ = 0;
    std::size_t wide_offset_ = 0;
    std::size_t slots_offset_ = 0;
    std::size_t chunks_offset_ = 0;
    std::size_t blocks_offset_ = 0;
    int descriptor_ = -1;  // kept open by the owner: peers open it through /proc
    Geometry geometry_;
    Location location_;
};

}  // namespace beeline::mover::shm
