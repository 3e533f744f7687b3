// SPDX-License-Identifier: BSD-3-Clause
// Places in elements.
#include "coll/plan/layout.hpp"

#include <algorithm>

namespace beeline::coll::plan {
namespace {

/// Mirrors begin at multiples of this many elements, so that elements of any size that is a power
/// of two are as well aligned as the scratch itself.
constexpr std::size_t kAlign = 16;

constexpr std::size_t aligned(std::size_t elements) noexcept {
    return (elements + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

Layout::Layout(const Schedule& schedule, const Sizes& sizes) noexcept
    : cut_(schedule.cut),
      slices_(schedule.slices),
      frame_chunks_(schedule.frame_chunks()),
      sizes_(sizes) {
    input_ = {schedule.input_blocks, sizes.count, &sizes_.input};
    output_ = {schedule.output_blocks, sizes.count, &sizes_.output};
    frame_ = output_.number == schedule.frame_blocks ? output_ : input_;
    frame_.number = schedule.frame_blocks;
    if (schedule.mirrors > 0) {
        const Piece last = block(frame_, frame_.number - 1);
        mirror_ = aligned(last.offset + last.count);
    }
    slots_ = schedule.mirrors * mirror_;
    slot_count_ = schedule.slots;
    if (slot_count_ > 0) {
        std::size_t largest = sizes.count;
        if (cut_ == Cut::kEven) {
            largest = pattern::largest_piece(sizes.count, frame_.number);
        } else if (cut_ != Cut::kEqual) {
            for (const std::size_t count : frame_.table->counts) {
                largest = std::max(largest, count);
            }
        }
        slot_ = pattern::largest_piece(largest, slices_);
    }
}

Piece Layout::block(const Blocks& blocks, std::uint32_t index) const noexcept {
    switch (cut_) {
        case Cut::kEven:
            return pattern::piece(blocks.count, blocks.number, index);
        case Cut::kEqual:
            return {index * blocks.count, blocks.count};
        case Cut::kVarying:
        case Cut::kScattered:
            break;
    }
    if (blocks.table->counts.empty()) {
        return {0, blocks.count};  // the only one
    }
    return {blocks.table->displacements[index], blocks.table->counts[index]};
}

Piece Layout::run(const Blocks& blocks, std::uint32_t first, std::uint32_t count) const noexcept {
    if (count == 0) {
        return {};
    }
    const Piece head = block(blocks, first / slices_);
    const Piece begin = pattern::piece(head.count, slices_, first % slices_);
    if (count == 1) {
        return {head.offset + begin.offset, begin.count};
    }
    const std::uint32_t last = first + count - 1;
    const Piece tail = block(blocks, last / slices_);
    const Piece end = pattern::piece(tail.count, slices_, last % slices_);
    const std::size_t offset = head.offset + begin.offset;
    return {offset, tail.offset + end.offset + end.count - offset};
}

Piece Layout::locate(const Place& place, std::uint32_t count) const noexcept {
    switch (place.buffer) {
        case Buffer::kInput:
            return run(input_, place.chunk, count);
        case Buffer::kOutput:
            return run(output_, place.chunk, count);
        case Buffer::kMirror: {
            const Piece piece = run(frame_, place.chunk % frame_chunks_, count);
            return {place.chunk / frame_chunks_ * mirror_ + piece.offset, piece.count};
        }
        case Buffer::kSlot:
            break;
    }
    return {slots_ + place.chunk * slot_, run(frame_, place.like, count).count};
}

}  // namespace beeline::coll::plan
