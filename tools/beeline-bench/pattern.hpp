// SPDX-License-Identifier: BSD-3-Clause
// Test data that depends on its position and on a seed, so that stale, shifted or swapped bytes
// show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace beeline::bench {

/// A bijection of 64-bit words whose output bits all depend on all input bits (the finalizer of
/// MurmurHash3, public domain by A. Appleby).
constexpr std::uint64_t mix(std::uint64_t word) noexcept {
    word ^= word >> 33;
    word *= 0xff51afd7ed558ccdULL;
    word ^= word >> 33;
    word *= 0xc4ceb9fe1a85ec53ULL;
    return word ^ (word >> 33);
}

/// A seed for the message number `message` of `round` from `source` to `target`.
constexpr std::uint64_t make_seed(unsigned round, unsigned source, unsigned target,
                                  unsigned message) noexcept {
    return mix((std::uint64_t{round} << 32 | message) ^ mix(std::uint64_t{source} << 32 | target));
}

inline void fill_pattern(std::span<unsigned char> out, std::uint64_t seed) noexcept {
    for (std::size_t offset = 0; offset < out.size(); offset += sizeof seed) {
        const std::uint64_t word = mix(seed + offset);
        const std::size_t left = out.size() - offset;
        std::memcpy(out.data() + offset, &word, left < sizeof word ? left : sizeof word);
    }
}

inline bool has_pattern(std::span<const unsigned char> in, std::uint64_t seed) noexcept {
    for (std::size_t offset = 0; offset < in.size(); offset += sizeof seed) {
        const std::uint64_t word = mix(seed + offset);
        const std::size_t left = in.size() - offset;
        if (std::memcmp(in.data() + offset, &word, left < sizeof word ? left : sizeof word) != 0) {
            return false;
        }
    }
    return true;
}

/// What rank `rank` contributes to element `index` of a reduction: a small whole number, so that
/// sums over many ranks are exact in any order.
constexpr float contribution(unsigned round, unsigned rank, std::size_t index) noexcept {
    return static_cast<float>((mix(std::uint64_t{round} << 40 ^ index) + std::uint64_t{7} * rank) &
                              31);
}

}  // namespace beeline::bench
