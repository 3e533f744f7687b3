// SPDX-License-Identifier: BSD-3-Clause
// Where the chunks of a schedule lie, once counts are known.
#pragma once

#include <cstddef>
#include <span>

#include "coll/pattern/chunks.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

using pattern::Piece;

/// Lengths and places of a buffer's blocks, in elements; for buffers of several blocks that vary.
struct BlockTable {
    std::span<const std::size_t> counts;
    std::span<const std::size_t> displacements;
};

/// The counts of one call, in elements.
struct Sizes {
    /// Of the vector; or of every block (Cut::kEqual); or of the one block of a buffer that has one
    /// only, where blocks vary.
    std::size_t count = 0;
    BlockTable input;   ///< where blocks vary and the input has several; else it may be empty
    BlockTable output;  ///< as `input`
};

/// Maps places to elements. Copies nothing: the tables in `sizes` must outlive it. In scratch,
/// mirrors come first and slots after them.
class Layout {
 public:
    Layout(const Schedule& schedule, const Sizes& sizes) noexcept;
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;

    /// Offset in its buffer (kMirror, kSlot: in the scratch) and length of the `count` chunks that
    /// `place` names, in elements. Constant time. The places of one op have the same length.
    Piece locate(const Place& place, std::uint32_t count) const noexcept;

    /// Elements of scratch that the schedule needs.
    std::size_t scratch() const noexcept { return slots_ + slot_count_ * slot_; }

 private:
    struct Blocks {
        std::uint32_t number = 0;
        std::size_t count = 0;  ///< even: of all; equal: of each
        const BlockTable* table = nullptr;
    };
    Piece block(const Blocks& blocks, std::uint32_t index) const noexcept;
    Piece run(const Blocks& blocks, std::uint32_t first, std::uint32_t count) const noexcept;

    Cut cut_;
    std::uint32_t slices_;
    std::uint32_t frame_chunks_;
    Sizes sizes_;
    Blocks input_;
    Blocks output_;
    Blocks frame_;
    std::size_t mirror_ = 0;  ///< elements from one copy of the frame to the next
    std::size_t slots_ = 0;   ///< where the slots begin
    std::size_t slot_ = 0;    ///< elements of a slot
    std::size_t slot_count_ = 0;
};

/// Part `round` of `rounds` of a call on a vector or on equal blocks of `count` elements: the
/// elements of the vector, or of each block, that this round works on.
constexpr Piece round_of(std::size_t count, std::size_t rounds, std::size_t round) noexcept {
    return pattern::piece(count, rounds, round);
}

}  // namespace beeline::coll::plan
