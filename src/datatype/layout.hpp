// SPDX-License-Identifier: BSD-3-Clause
// The layout of one element of a datatype in memory, and of `count` of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace beeline::datatype {

/// A run of bytes at `offset` from the element's address. Blocks are in type-map order and may be
/// negative.
struct Block {
    std::ptrdiff_t offset;
    std::size_t bytes;
};

/// One element: `size` bytes of data (the sum of the blocks), the next element `extent` bytes
/// further.
struct Layout {
    std::size_t size = 0;
    std::ptrdiff_t extent = 0;
    std::vector<Block> blocks;

    /// Data of `count` elements, in bytes.
    std::size_t bytes(std::size_t count) const noexcept { return size * count; }

    /// True when `count` elements are one gapless run; it starts at `first_offset()`.
    bool contiguous(std::size_t count) const noexcept {
        return blocks.size() <= 1 && (count <= 1 || extent == static_cast<std::ptrdiff_t>(size));
    }
    std::ptrdiff_t first_offset() const noexcept {
        return blocks.empty() ? 0 : blocks.front().offset;
    }
};

/// The layout of `bytes` plain bytes per element.
inline Layout byte_layout(std::size_t bytes = 1) {
    return Layout{bytes, static_cast<std::ptrdiff_t>(bytes), {Block{0, bytes}}};
}

/// Calls visit(offset from the buffer's address, bytes, offset in the packed stream) for each run
/// of the packed byte range [skip, skip + length) of `count` elements, in packed order.
/// Neighbouring runs are merged when they touch.
template <class Visit>
void for_each_run(const Layout& layout, std::size_t count, std::size_t skip, std::size_t length,
                  Visit&& visit) {
    if (layout.size == 0) {
        return;
    }
    length = std::min(length, layout.bytes(count) - std::min(skip, layout.bytes(count)));
    std::size_t packed = 0;  // start of the current block in the stream
    std::size_t element = skip / layout.size;
    packed = element * layout.size;
    Block run{0, 0};
    std::size_t run_packed = 0;
    const std::size_t end = skip + length;
    for (; element < count && packed < end; ++element) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(element) * layout.extent;
        for (const Block& block : layout.blocks) {
            const std::size_t from = std::max(packed, skip);
            const std::size_t to = std::min(packed + block.bytes, end);
            if (from < to) {
                const std::ptrdiff_t offset =
                    at + block.offset + static_cast<std::ptrdiff_t>(from - packed);
                if (run.bytes != 0 &&
                    run.offset + static_cast<std::ptrdiff_t>(run.bytes) == offset) {
                    run.bytes += to - from;
                } else {
                    if (run.bytes != 0) {
                        visit(run.offset, run.bytes, run_packed);
                    }
                    run = Block{offset, to - from};
                    run_packed = from - skip;
                }
            }
            packed += block.bytes;
        }
    }
    if (run.bytes != 0) {
        visit(run.offset, run.bytes, run_packed);
    }
}

/// Copies the packed range [skip, skip + out.size()) of a host buffer into `out`.
void pack(const Layout& layout, std::size_t count, const void* buffer, std::size_t skip,
          std::span<std::byte> out) noexcept;

/// Copies `in` into the packed range [skip, skip + in.size()) of a host buffer; gaps stay
/// untouched.
void unpack(const Layout& layout, std::size_t count, void* buffer, std::size_t skip,
            std::span<const std::byte> in) noexcept;

}  // namespace beeline::datatype
