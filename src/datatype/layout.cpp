// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking of host buffers by their layout.
#include "datatype/layout.hpp"

#include <cstring>

namespace beeline::datatype {

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
