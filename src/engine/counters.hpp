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

/// What RDMA devices did for this process.
struct RdmaCounters {
    std::uint64_t registrations = 0;     ///< of memory
    std::uint64_t registered_again = 0;  ///< found in the cache instead
    std::uint64_t connections = 0;       ///< made, to one process each
    std::uint64_t retries = 0;           ///< messages moved again after a failure
    std::uint64_t flushes = 0;           ///< of writes into device memory
    std::uint64_t broken = 0;            ///< rails of a connection that failed
    std::uint64_t closed = 0;            ///< connections that nobody used
    struct Rail {
        char name[64] = {};
        std::uint64_t written = 0;   ///< bytes
        std::uint64_t read = 0;      ///< bytes
        std::uint64_t shares = 0;    ///< messages, or parts of them
        std::uint64_t messages = 0;  ///< small ones, and what large ones need to be said
    };
    std::array<Rail, 4> rails{};
    std::size_t rail_count = 0;
    std::size_t connection_bytes = 0;  ///< host memory of each connection, estimated
};

}  // namespace beeline::engine
