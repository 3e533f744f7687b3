// SPDX-License-Identifier: BSD-3-Clause
// What a range of device addresses consists of: one allocation, or several cuMemMap mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/pointer.hpp"

namespace beeline::mover::verbs {

/// A whole allocation, or one mapping.
struct Part {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t id = 0;  ///< buffer id

    std::uint64_t end() const noexcept { return base + bytes; }
};

/// Neighbouring parts, without gaps, in order of address.
struct Extent {
    std::vector<Part> parts;
    bool is_vmm = false;     ///< made of mappings
    bool is_capable = true;  ///< VMM: the memory was made for GPUDirect RDMA

    std::uint64_t base() const noexcept { return parts.empty() ? 0 : parts.front().base; }
    std::uint64_t bytes() const noexcept {
        return parts.empty() ? 0 : parts.back().end() - parts.front().base;
    }
};

/// At most as many parts are looked at to either side of a message.
inline constexpr std::size_t kMaxExtentParts = 4096;

/// The memory that [address, address + bytes) lies in: the allocation, or the mappings without a
/// gap around it, up to those `limit` bytes away. Empty when there is a gap within the message or
/// the driver knows nothing of it. A few driver calls, one more for each mapping.
Extent extent_of(const memory::Pointer& where, std::uint64_t address, std::uint64_t bytes,
                 std::uint64_t limit) noexcept;

/// Only the parts that hold the message.
Extent narrowed(const Extent& extent, std::uint64_t address, std::uint64_t bytes) noexcept;

/// Whether the part is still the memory that it was; one driver call.
bool still_there(const cuda::Driver& driver, const Part& part) noexcept;

}  // namespace beeline::mover::verbs
