// SPDX-License-Identifier: BSD-3-Clause
// What a process publishes so that others can reach it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mover/shm/segment.hpp"
#include "topo/identity.hpp"

namespace beeline::engine {

struct Address {
    topo::NodeId node;
    mover::shm::Location shm;    ///< descriptor -1 when this process has no segment
    std::vector<std::byte> ucx;  ///< the UCX worker's address
};

/// As bytes for the modex.
std::vector<std::byte> encode(const Address& address);

/// False when the bytes are not an address of this version; nothing in them is believed before it
/// is checked.
bool decode(std::span<const std::byte> in, Address& out);

}  // namespace beeline::engine
