// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic of PAT: binomial trees, one for each block, laid over each other.
//
// S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
// 2506.20252 (2025). Block b belongs to rank b; the rank `offset` above it is a node of its tree
// whose parent is 2^level below, level being the number of the offset's trailing zero bits. So the
// longest way carries the fewest blocks, every size has ceil(log2) levels, and all ranks do the
// same for the same offset.
#pragma once

#include <bit>

namespace beeline::coll::pattern {

/// The bit by which an offset differs from its parent's. `offset` is above 0.
constexpr int pat_level(int offset) noexcept {
    return std::countr_zero(static_cast<unsigned>(offset));
}

/// Whether the node at `offset` has a child 2^level above it.
constexpr bool pat_has_child(int size, int offset, int level) noexcept {
    return (offset == 0 || level < pat_level(offset)) && offset + (1 << level) < size;
}

/// The landing places of a reduce-scatter that works on `together` (a power of two) offsets at a
/// time: one for every child inside a group, and one for each level above.
constexpr int pat_slot(int together, int offset, int level) noexcept {
    const int levels = std::countr_zero(static_cast<unsigned>(together));
    return level >= levels ? together - 1 + level - levels
                           : together - (together >> level) + offset % together / (2 << level);
}

}  // namespace beeline::coll::pattern
