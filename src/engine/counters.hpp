// SPDX-License-Identifier: BSD-3-Clause
// What went which way, counted at the sender; reasons for fallbacks.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/path.hpp"

namespace beeline::engine {

struct Counters {
    std::array<std::uint64_t, protocol::kPaths> messages{};
    std::array<std::uint64_t, protocol::kPaths> bytes{};
    std::array<std::uint64_t, protocol::kReasons> fallbacks{};
    std::uint64_t unexpected = 0;  ///< messages that waited for their receive
};

}  // namespace beeline::engine
