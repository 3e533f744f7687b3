// SPDX-License-Identifier: BSD-3-Clause
// How a message is cut into chunks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace beeline::protocol {

/// Bytes of each chunk but the last, for a message of `bytes` in as few chunks of at most `most`
/// bytes as possible, all about equal: a short chunk behind a long one leaves a stage of the
/// pipeline idle. Whole pages where there are several, as copies like it; never more than `most`.
[[nodiscard]] constexpr std::size_t even_chunk(std::size_t bytes, std::size_t most) noexcept {
    constexpr std::size_t kPage = 4096;
    if (most == 0 || bytes <= most) {
        return most;
    }
    const std::size_t chunks = (bytes + most - 1) / most;
    const std::size_t even = (bytes + chunks - 1) / chunks;
    return std::min(most, (even + kPage - 1) / kPage * kPage);
}

}  // namespace beeline::protocol
