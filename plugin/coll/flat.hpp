// SPDX-License-Identifier: BSD-3-Clause
// A buffer of a collective as gapless blocks of bytes, which is all that schedules know.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "coll/exec/device_engine.hpp"
#include "coll/plan/layout.hpp"
#include "plugin/staging.hpp"

namespace beeline::plugin::coll {

/// One side of a call. Where the caller's blocks are gapless they are used as they are; where a
/// datatype has gaps, the data is packed into memory of our own and unpacked from it: on the device
/// if the buffer is there and it has room, else on the host.
class Flat {
 public:
    /// Describes the buffer that both views are of (either may be kNothing): the blocks of `in` are
    /// read, those of `out` written. With `scattered` blocks may lie anywhere, else they follow
    /// each other. `picked` names the blocks that count, in their order; null: all of them. It and
    /// the caller's arrays must stay until deliver(). kNoMemory when a packed copy finds no room;
    /// the lengths of the blocks are known all the same.
    Status describe(const Buffer& in, const Buffer& out, bool scattered,
                    const std::vector<int>* picked = nullptr);

    /// No buffer; keeps its memory for the next, unless it is much.
    void clear() noexcept;

    /// Brings the data of `in`, if it has gaps, for the operation to read.
    Status fetch();
    /// Takes the data of `out` back to where the caller wants it.
    Status deliver();

    /// Makes elements of this many bytes out of bytes in all that follows, where nothing has gaps.
    void in_elements(std::size_t bytes) noexcept;

    std::byte* address() const noexcept { return address_; }
    std::size_t blocks() const noexcept { return counts_.size(); }
    /// In bytes, or elements.
    std::size_t bytes_of(std::size_t block) const noexcept { return counts_[block]; }
    std::size_t bytes() const noexcept { return bytes_; }
    beeline::coll::plan::BlockTable table() const noexcept { return {counts_, displacements_}; }

 private:
    enum class Direction { kFetch, kDeliver };
    /// The most of packed memory that is kept from one call to the next.
    static constexpr std::size_t kKept = std::size_t{16} << 20;

    std::size_t block_at(std::size_t index) const noexcept {
        return picked_ == nullptr ? index : static_cast<std::size_t>((*picked_)[index]);
    }
    std::ptrdiff_t first_place(const Buffer& buffer) const noexcept;
    Status place_in_packed(const Buffer& whole, std::ptrdiff_t first);
    std::byte* room_for_packed(const void* data);
    Status move(const Buffer& view, Direction direction);

    const std::vector<int>* picked_ = nullptr;
    Buffer in_;
    Buffer out_;
    std::byte* address_ = nullptr;
    std::size_t bytes_ = 0;  ///< of all blocks, in bytes
    std::vector<std::size_t> counts_;
    std::vector<std::size_t> displacements_;
    bool in_packed_ = false;  ///< the blocks are packed, not where the caller has them
    std::unique_ptr<beeline::coll::exec::DeviceEngine> device_;  ///< its scratch: packed data
    std::unique_ptr<std::byte[]> packed_;
    std::size_t capacity_ = 0;
};

}  // namespace beeline::plugin::coll
