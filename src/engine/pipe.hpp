// SPDX-License-Identifier: BSD-3-Clause
// Large host messages on their way to one process of the node, in blocks of shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"

namespace beeline::engine {

struct Peer;
struct Request;

/// One for each receiver. Messages go one after the other, so that few blocks in turn stay in the
/// cache whatever is to be sent.
struct Pipe : ListNode<> {
    static constexpr std::size_t kMaxDepth = 16;

    Peer* peer = nullptr;
    List<Request> requests;  ///< asked for; the first is being sent
    /// Leased while there are requests. They are filled, and emptied, in this order, over and over.
    std::array<std::uint32_t, kMaxDepth> blocks{};
    std::size_t leased = 0;
    std::size_t next = 0;   ///< to be filled
    std::size_t ready = 0;  ///< bytes in it that wait for room in the receiver's queue
};

}  // namespace beeline::engine
