// SPDX-License-Identifier: BSD-3-Clause
// Splitting a vector into nearly equal pieces: the same on every rank, for any length and number.
#pragma once

#include <cstddef>

namespace beeline::coll::pattern {

/// A run of elements.
struct Piece {
    std::size_t offset = 0;
    std::size_t count = 0;
};

/// Piece `index` of `parts` of a vector of `total` elements. Sizes differ by at most one, larger
/// ones first; with fewer elements than parts the last pieces are empty. `parts` must be positive.
constexpr Piece piece(std::size_t total, std::size_t parts, std::size_t index) noexcept {
    const std::size_t base = total / parts;
    const std::size_t larger = total % parts;
    const std::size_t before = index < larger ? index : larger;
    return {index * base + before, base + (index < larger ? 1 : 0)};
}

/// The size of the largest piece.
constexpr std::size_t largest_piece(std::size_t total, std::size_t parts) noexcept {
    return piece(total, parts, 0).count;
}

}  // namespace beeline::coll::pattern
