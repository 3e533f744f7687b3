// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking of host buffers by their layout.
#include "datatype/layout.hpp"

#include <atomic>
#include <cstring>

namespace beeline::datatype {
namespace {

constexpr std::uintptr_t kMostAligned = 16;
std::atomic<std::uint64_t> last_id{0};

}  // namespace

void index(Layout& layout) {
    layout.groups.clear();
    std::uintptr_t bits = kMostAligned | layout.size | static_cast<std::uintptr_t>(layout.extent);
    std::size_t packed = 0;
    for (const Block& block : layout.blocks) {
        if (block.bytes == 0) {
            continue;
        }
        bits |= static_cast<std::uintptr_t>(block.offset) | block.bytes;
        Group* last = layout.groups.empty() ? nullptr : &layout.groups.back();
        if (last != nullptr && last->bytes == block.bytes) {
            const auto blocks = static_cast<std::ptrdiff_t>(last->blocks);
            if (last->blocks == 1) {
                last->stride = block.offset - last->offset;
            }
            if (last->offset + blocks * last->stride == block.offset) {
                ++last->blocks;
                packed += block.bytes;
                continue;
            }
        }
        layout.groups.push_back(Group{block.offset, block.bytes, 0, 1, packed});
        packed += block.bytes;
    }
    layout.alignment = bits & (~bits + 1);
    layout.id = ++last_id;
}

void pack(const Layout& layout, std::size_t count, const void* buffer, std::size_t skip,
          std::span<std::byte> out) noexcept {
    const auto* base = static_cast<const std::byte*>(buffer);
    for_each_run(layout, count, skip, out.size(),
                 [&](std::ptrdiff_t offset, std::size_t bytes, std::size_t packed) {
                     std::memcpy(out.data() + packed, base + offset, bytes);
                 });
}

void unpack(const Layout& layout, std::size_t count, void* buffer, std::size_t skip,
            std::span<const std::byte> in) noexcept {
    auto* base = static_cast<std::byte*>(buffer);
    for_each_run(layout, count, skip, in.size(),
                 [&](std::ptrdiff_t offset, std::size_t bytes, std::size_t packed) {
                     std::memcpy(base + offset, in.data() + packed, bytes);
                 });
}

}  // namespace beeline::datatype
