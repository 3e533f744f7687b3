// SPDX-License-Identifier: BSD-3-Clause
// The layout of one element of a datatype in memory, and of `count` of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace beeline::datatype {

/// A run of bytes at `offset` from the element's address. Blocks are in type-map order and may be
/// negative.
struct Block {
    std::ptrdiff_t offset;
    std::size_t bytes;
};

/// Blocks of equal length at equal distances, in type-map order: what a vector is made of.
struct Group {
    std::ptrdiff_t offset = 0;  ///< of the first block from the element's address
    std::size_t bytes = 0;      ///< of each block
    std::ptrdiff_t stride = 0;  ///< from one block to the next
    std::size_t blocks = 0;
    std::size_t packed = 0;  ///< bytes of the element's data before the first block

    bool operator==(const Group&) const = default;
};

/// One element: `size` bytes of data (the sum of the blocks), the next element `extent` bytes
/// further.
struct Layout {
    std::size_t size = 0;
    std::ptrdiff_t extent = 0;
    std::vector<Block> blocks;
    /// By index(): the blocks in groups, so that a range is found without walking to it.
    std::vector<Group> groups{};
    std::uint64_t id = 0;       ///< by index(): names these groups for the life of the process
    std::size_t alignment = 1;  ///< by index(): power of two up to 16 that divides all of the above

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

/// Fills in groups, id and alignment from the rest. Once, when the layout is complete.
void index(Layout& layout);

/// The group of an indexed layout that holds byte `packed` of an element's data.
inline std::size_t group_at(const Layout& layout, std::size_t packed) noexcept {
    const auto after =
        std::upper_bound(layout.groups.begin(), layout.groups.end(), packed,
                         [](std::size_t at, const Group& group) { return at < group.packed; });
    return static_cast<std::size_t>(after - layout.groups.begin()) - 1;
}

/// The layout of `bytes` plain bytes per element.
inline Layout byte_layout(std::size_t bytes = 1) {
    return Layout{bytes, static_cast<std::ptrdiff_t>(bytes), {Block{0, bytes}}};
}

/// Hands runs on, merged where neighbours touch.
template <class Visit>
class RunMerger {
 public:
    explicit RunMerger(Visit& visit) noexcept : visit_(visit) {}
    void add(std::ptrdiff_t offset, std::size_t bytes) {
        if (run_.bytes != 0 && run_.offset + static_cast<std::ptrdiff_t>(run_.bytes) == offset) {
            run_.bytes += bytes;
            return;
        }
        finish();
        run_ = Block{offset, bytes};
    }
    void finish() {
        if (run_.bytes != 0) {
            visit_(run_.offset, run_.bytes, packed_);
            packed_ += run_.bytes;
        }
        run_ = {};
    }

 private:
    Visit& visit_;
    Block run_{0, 0};
    std::size_t packed_ = 0;
};

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
    RunMerger<Visit> runs(visit);
    std::size_t into = skip % layout.size;  // bytes of the element's data still to be skipped
    for (std::size_t element = skip / layout.size; length != 0; ++element) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(element) * layout.extent;
        const auto take = [&](std::ptrdiff_t offset, std::size_t bytes) {
            const std::size_t part = std::min(bytes - into, length);
            runs.add(at + offset + static_cast<std::ptrdiff_t>(into), part);
            length -= part;
            into = 0;
        };
        if (layout.groups.empty()) {
            for (const Block& block : layout.blocks) {
                if (length == 0) {
                    break;
                }
                if (into >= block.bytes) {
                    into -= block.bytes;
                } else {
                    take(block.offset, block.bytes);
                }
            }
            continue;
        }
        for (std::size_t g = group_at(layout, into); g < layout.groups.size() && length != 0; ++g) {
            const Group& group = layout.groups[g];
            std::size_t block = into == 0 ? 0 : (into - group.packed) / group.bytes;
            into = into == 0 ? 0 : (into - group.packed) % group.bytes;
            for (; block < group.blocks && length != 0; ++block) {
                take(group.offset + static_cast<std::ptrdiff_t>(block) * group.stride, group.bytes);
            }
        }
    }
    runs.finish();
}

/// Copies the packed range [skip, skip + out.size()) of a host buffer into `out`.
void pack(const Layout& layout, std::size_t count, const void* buffer, std::size_t skip,
          std::span<std::byte> out) noexcept;

/// Copies `in` into the packed range [skip, skip + in.size()) of a host buffer; gaps stay
/// untouched.
void unpack(const Layout& layout, std::size_t count, void* buffer, std::size_t skip,
            std::span<const std::byte> in) noexcept;

}  // namespace beeline::datatype
