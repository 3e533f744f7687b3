// SPDX-License-Identifier: BSD-3-Clause
// Blocks of bytes out of counts, displacements and datatypes.
#include "plugin/coll/flat.hpp"

#include <algorithm>
#include <new>

#include "memory/copy.hpp"
#include "memory/pointer.hpp"

namespace beeline::plugin::coll {
namespace {

/// The blocks that a view spans, whether or not all of them hold its data.
std::size_t blocks_of(const Buffer& buffer) noexcept {
    switch (buffer.amount) {
        case Amount::kNothing:
            return 0;
        case Amount::kOne:
        case Amount::kOwnCount:
            return 1;
        case Amount::kBlocks:
        case Amount::kOwnBlock:
        case Amount::kListed:
        case Amount::kOwnListed:
        case Amount::kTyped:
        case Amount::kSum:
            break;
    }
    return static_cast<std::size_t>(buffer.blocks);
}

/// Block `index` of a view; its offset is from the buffer's address.
Piece block_of(const Buffer& buffer, std::size_t index) noexcept {
    const auto i = static_cast<std::ptrdiff_t>(index);
    switch (buffer.amount) {
        case Amount::kNothing:
            break;
        case Amount::kOne:
            return {0, buffer.count, buffer.type};
        case Amount::kOwnCount:
            return {0, static_cast<std::size_t>(buffer.counts[buffer.own]), buffer.type};
        case Amount::kBlocks:
        case Amount::kOwnBlock:
            return {i * static_cast<std::ptrdiff_t>(buffer.count) * extent_of(buffer.type),
                    buffer.count, buffer.type};
        case Amount::kListed:
        case Amount::kOwnListed:
            return {buffer.displacements[i] * extent_of(buffer.type),
                    static_cast<std::size_t>(buffer.counts[i]), buffer.type};
        case Amount::kTyped:
            return {buffer.byte_displacements != nullptr ? buffer.byte_displacements[i]
                                                         : buffer.displacements[i],
                    static_cast<std::size_t>(buffer.counts[i]), buffer.types[i]};
        case Amount::kSum: {
            std::ptrdiff_t before = 0;
            for (std::ptrdiff_t k = 0; k < i; ++k) {
                before += buffer.counts[k];
            }
            return {before * extent_of(buffer.type), static_cast<std::size_t>(buffer.counts[i]),
                    buffer.type};
        }
    }
    return {0, 0, MPI_BYTE};
}

/// Whether the view's data is in this block.
bool holds(const Buffer& buffer, std::size_t index) noexcept {
    const bool own = buffer.amount == Amount::kOwnBlock || buffer.amount == Amount::kOwnListed;
    return !own || static_cast<std::size_t>(buffer.own) == index;
}

std::byte* at(void* address, std::ptrdiff_t offset) noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                        static_cast<std::uintptr_t>(offset));
}

/// A block with gaps, to or from packed memory. Relative to MPI_BOTTOM its runs may lie in
/// different kinds of memory, so each is copied by itself then.
Status move_block(bool fetch, const Piece& piece, void* base, std::byte* packed,
                  bool packed_on_device) {
    const datatype::Layout& layout = *layout_of(piece.type);
    const std::size_t bytes = layout.bytes(piece.count);
    std::byte* buffer = at(base, piece.offset);
    const memory::Pointer pointer = memory::classify(buffer + piece.type->super.true_lb);
    if (base == MPI_BOTTOM || (packed_on_device && !pointer.on_device())) {
        Status status = Status::kOk;
        datatype::for_each_run(layout, piece.count, 0, bytes,
                               [&](std::ptrdiff_t run, std::size_t length, std::size_t position) {
                                   std::byte* place = at(buffer, run);
                                   if (status == Status::kOk) {
                                       status =
                                           fetch ? memory::copy(packed + position, place, length)
                                                 : memory::copy(place, packed + position, length);
                                   }
                               });
        return status;
    }
    return fetch ? memory::pack(layout, piece.count, buffer, pointer, 0, packed, bytes)
                 : memory::unpack(layout, piece.count, buffer, pointer, 0, packed, bytes);
}

}  // namespace

/// Where the lowest block with data lies: addresses below it may be of other memory. Nothing has
/// data: 0.
std::ptrdiff_t Flat::first_place(const Buffer& buffer) const noexcept {
    std::ptrdiff_t lowest = 0;
    bool any = false;
    for (std::size_t index = 0; index < counts_.size(); ++index) {
        const Piece piece = block_of(buffer, block_at(index));
        if (piece.count * piece.type->super.size != 0) {
            const std::ptrdiff_t place = piece.offset + piece.type->super.true_lb;
            lowest = any ? std::min(lowest, place) : place;
            any = true;
        }
    }
    return lowest;
}

Status Flat::describe(const Buffer& in, const Buffer& out, bool scattered,
                      const std::vector<int>* picked) {
    in_ = in;
    out_ = out;
    picked_ = picked;
    const Buffer& whole = out.amount != Amount::kNothing ? out : in;
    const std::size_t blocks =
        picked != nullptr && whole.amount != Amount::kOne ? picked->size() : blocks_of(whole);
    if (whole.amount == Amount::kOne || whole.amount == Amount::kNothing) {
        picked_ = nullptr;
    }
    counts_.resize(blocks);
    displacements_.resize(blocks);
    bytes_ = 0;
    const std::ptrdiff_t first = first_place(whole);
    // Blocks relative to MPI_BOTTOM may lie in different kinds of memory.
    bool gapless = !(scattered && whole.address == MPI_BOTTOM);
    for (std::size_t index = 0; index < blocks; ++index) {
        const Piece piece = block_of(whole, block_at(index));
        std::ptrdiff_t offset = 0;
        counts_[index] = piece.count * piece.type->super.size;
        displacements_[index] = bytes_;
        if (counts_[index] == 0) {
            continue;
        }
        gapless = gapless && is_contiguous(piece.type, piece.count, offset);
        const std::ptrdiff_t place = piece.offset + offset - first;
        gapless = gapless && (scattered || place == static_cast<std::ptrdiff_t>(bytes_));
        displacements_[index] = static_cast<std::size_t>(place);
        bytes_ += counts_[index];
    }
    in_packed_ = !gapless && bytes_ != 0;
    address_ = at(whole.address, first);
    return in_packed_ ? place_in_packed(whole, first) : Status::kOk;
}

/// Memory for packed data, where `data` is; null when there is none.
std::byte* Flat::room_for_packed(const void* data) {
    const memory::Pointer place = memory::look_at(data);
    if (place.on_device()) {
        if (device_ == nullptr) {
            device_ = std::make_unique<beeline::coll::exec::DeviceEngine>();
        }
        device_->bind(place);
        if (const auto room = device_->scratch(bytes_)) {
            return static_cast<std::byte*>(room.value());
        }
    }
    if (capacity_ < bytes_) {
        packed_.reset(new (std::nothrow) std::byte[bytes_]);
        capacity_ = packed_ == nullptr ? 0 : bytes_;
    }
    return packed_.get();
}

/// The blocks one after another in memory of our own.
Status Flat::place_in_packed(const Buffer& whole, std::ptrdiff_t first) {
    // Relative to MPI_BOTTOM they may lie in different kinds of memory.
    const bool anywhere = whole.address == MPI_BOTTOM;
    address_ = room_for_packed(anywhere ? nullptr : at(whole.address, first));
    std::size_t end = 0;
    for (std::size_t index = 0; index < counts_.size(); ++index) {
        displacements_[index] = end;
        end += counts_[index];
    }
    return address_ == nullptr ? Status::kNoMemory : Status::kOk;
}

void Flat::clear() noexcept {
    in_ = out_ = {};
    picked_ = nullptr;
    if (in_packed_ && bytes_ > kKept) {
        device_.reset();
    }
    if (capacity_ > kKept) {
        packed_.reset();
        capacity_ = 0;
    }
    address_ = nullptr;
    bytes_ = 0;
    counts_.clear();
    displacements_.clear();
    in_packed_ = false;
}

void Flat::in_elements(std::size_t bytes) noexcept {
    for (std::vector<std::size_t>* numbers : {&counts_, &displacements_}) {
        for (std::size_t& number : *numbers) {
            number /= bytes;
        }
    }
}

Status Flat::move(const Buffer& view, Direction direction) {
    if (!in_packed_ || view.amount == Amount::kNothing) {
        return Status::kOk;
    }
    for (std::size_t index = 0; index < counts_.size(); ++index) {
        const std::size_t block = block_at(index);
        if (counts_[index] != 0 && holds(view, block)) {
            const Status status =
                move_block(direction == Direction::kFetch, block_of(view, block), view.address,
                           address_ + displacements_[index], address_ != packed_.get());
            if (status != Status::kOk) {
                return status;
            }
        }
    }
    return Status::kOk;
}

Status Flat::fetch() {
    return move(in_, Direction::kFetch);
}

Status Flat::deliver() {
    return move(out_, Direction::kDeliver);
}

}  // namespace beeline::plugin::coll
