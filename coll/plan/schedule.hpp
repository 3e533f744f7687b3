// SPDX-License-Identifier: BSD-3-Clause
// A collective as a value: what one rank does, on which parts of which buffers, and what must wait
// for what.
//
// A schedule knows no sizes. Its buffers consist of chunks, and how long each chunk is is said when
// it is run (layout.hpp); so one schedule serves every count, datatype and memory, and one proof
// covers them all. A chunk may be empty: whoever runs a schedule then skips what moves nothing, on
// both sides alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/plan/collective.hpp"

namespace beeline::coll::plan {

/// The buffers of a rank.
///   input    the user's send buffer; never written. Absent when in place, and for bcast
///   output   the user's receive buffer (bcast: the only one); absent where a rank gets no result
///   mirror   scratch that is cut like the frame: chunk m * frame_chunks + c is copy m of chunk c
///   slot     scratch that holds one chunk, of whatever length, in each slot; several slots in one
///            op only where all chunks have the same length (Cut::kEqual, one slice)
/// In place the output holds what the input would: for allreduce, reduce (at the root), scan and
/// exscan all of it, for allgather and gather (at the root) the own block, for alltoall all
/// blocks. A scatter that is in place at the root has no output there. Reduce_scatter is never in
/// place: its caller gives another output.
enum class Buffer : std::uint8_t { kInput, kOutput, kMirror, kSlot };
inline constexpr int kBuffers = 4;

constexpr const char* to_string(Buffer buffer) noexcept {
    constexpr const char* kNames[kBuffers] = {"input", "output", "mirror", "slot"};
    return kNames[static_cast<int>(buffer)];
}

/// How blocks get their lengths.
///   even       one vector in nearly equal pieces (pattern::piece): collectives on a vector
///   equal      all blocks have the same length, and follow each other in memory
///   varying    each block has a length of its own (zero perhaps); they follow each other
///   scattered  and they lie anywhere: one op moves the chunks of one block only. Blocks may even
///              have a datatype each (alltoallw)
enum class Cut : std::uint8_t { kEven, kEqual, kVarying, kScattered };

constexpr const char* to_string(Cut cut) noexcept {
    constexpr const char* kNames[] = {"even", "equal", "varying", "scattered"};
    return kNames[static_cast<int>(cut)];
}

enum class OpKind : std::uint8_t { kSend, kReceive, kCopy, kReduce, kReceiveReduce };
inline constexpr int kOpKinds = 5;

constexpr const char* to_string(OpKind kind) noexcept {
    constexpr const char* kNames[kOpKinds] = {"send", "receive", "copy", "reduce",
                                              "receive_reduce"};
    return kNames[static_cast<int>(kind)];
}

/// Where in a buffer, in chunks.
struct Place {
    Buffer buffer = Buffer::kOutput;
    std::uint32_t chunk = 0;
    /// Slots only: the frame chunk whose length the data in the slot has.
    std::uint32_t like = 0;
    bool operator==(const Place& other) const noexcept {
        return buffer == other.buffer && chunk == other.chunk;
    }
};

/// No dependency, no peer.
constexpr std::int32_t kNone = -1;

/// One step of a rank, on `count` chunks that follow each other. Fields that a kind does not name
/// are unused.
///   send            source -> peer
///   receive         peer -> target
///   copy            target = source
///   reduce          target = source (op) second
///   receive_reduce  target = message (op) second, or second (op) message when `second_first`;
///                   split() in transform.hpp makes a receive and a reduce of it
/// In a reduce `source` holds the contributions of the lower ranks when the schedule is ordered.
/// The target may be exactly one of the operands, but must not overlap one partly.
/// A send or receive of 0 chunks is an empty message (barrier): it moves nothing and must be waited
/// for as any other.
struct Op {
    OpKind kind = OpKind::kCopy;
    bool second_first = false;
    /// A reduce that continues the one before it in the list: see join() in transform.hpp.
    bool joined = false;
    std::uint8_t phase = 0;  ///< index of Schedule::phases; says nothing about order
    std::int32_t peer = kNone;
    std::int32_t channel = 0;
    Place source;
    Place second;
    Place target;
    std::uint32_t count = 1;
    std::uint32_t first_after = 0;  ///< see Schedule::after
    std::uint32_t afters = 0;
};

/// Whether this op sends or receives.
constexpr bool is_message(OpKind kind) noexcept {
    return kind == OpKind::kSend || kind == OpKind::kReceive || kind == OpKind::kReceiveReduce;
}

/// Which places of an op count.
constexpr bool reads_source(OpKind kind) noexcept {
    return kind == OpKind::kSend || kind == OpKind::kCopy || kind == OpKind::kReduce;
}
constexpr bool reads_second(OpKind kind) noexcept {
    return kind == OpKind::kReduce || kind == OpKind::kReceiveReduce;
}

/// One rank's part of a collective.
///
/// Meaning: ops are started in list order, each when the ops it names in `after` are complete;
/// nothing else orders them. A send is complete when its source may be changed, a receive when its
/// target is filled. The k-th send from i to j on a channel meets the k-th receive at j from i on
/// it, both of the same chunks. The collective is complete when all ops are.
///
/// Data longer than is good for one run may be cut into rounds (Layout): all ops are then run for
/// each round in turn. Rounds may overlap if each of those under way has scratch of its own.
struct Schedule {
    Collective collective = Collective::kAllreduce;
    std::string algorithm;
    int size = 1;
    int rank = 0;
    int root = 0;
    bool in_place = false;
    /// Keeps the rank order of operands: right for operations that do not commute.
    bool ordered = false;
    Cut cut = Cut::kEven;
    std::uint32_t input_blocks = 0;
    std::uint32_t output_blocks = 0;
    /// Blocks of the frame: the vector, or the larger side (allgather: output, reduce_scatter:
    /// input), equal on all ranks.
    std::uint32_t frame_blocks = 1;
    /// Every block consists of this many nearly equal pieces, for pipelining: the chunks. Chunk
    /// b * slices + s is slice s of block b.
    std::uint32_t slices = 1;
    std::uint32_t mirrors = 0;        ///< copies of the frame in scratch
    std::uint32_t slots = 0;          ///< slots in scratch
    std::vector<std::string> phases;  ///< of hierarchical schedules: "inside nodes", ...
    std::vector<Op> ops;
    std::vector<std::int32_t> dependencies;  ///< of all ops, one after another

    /// Earlier ops (indices) that must be complete before `op` starts.
    std::span<const std::int32_t> after(const Op& op) const noexcept {
        return {dependencies.data() + op.first_after, op.afters};
    }
    std::uint32_t frame_chunks() const noexcept { return frame_blocks * slices; }
    /// The chunks of a buffer.
    std::uint32_t chunks(Buffer buffer) const noexcept {
        switch (buffer) {
            case Buffer::kInput:
                return input_blocks * slices;
            case Buffer::kOutput:
                return output_blocks * slices;
            case Buffer::kMirror:
                return mirrors * frame_chunks();
            case Buffer::kSlot:
                return slots;
        }
        return 0;
    }
};

/// Adds `op`, to start after `after` (entries that are kNone are left out), and returns its index.
std::int32_t append(Schedule& schedule, Op op, std::span<const std::int32_t> after);

/// The schedule as text, one op a line, for people and for tests.
std::string print(const Schedule& schedule);

/// The same with loops (loops.hpp) as such: an op of theirs as it is in turn k.
std::string print_loops(const Schedule& schedule);

}  // namespace beeline::coll::plan
