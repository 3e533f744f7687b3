// SPDX-License-Identifier: BSD-3-Clause
// MSCCL's XML as values, every number checked.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "coll/plan/collective.hpp"

namespace beeline::coll::plan::msccl {

/// A document that is not as described; caught at the door.
struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline constexpr int kMostChunks = 1 << 16;  ///< of one buffer

/// What a step does: receives, combines with its source, stores, sends on. A copy and a reduction
/// inside a rank do none of the first and last.
struct Kind {
    const char* name;
    bool receives;
    bool reduces;
    bool stores;
    bool sends;
};
/// Where chunks of one of the three buffers begin.
struct Range {
    char buffer = 'i';
    int first = 0;
};

struct Step {
    const Kind* kind = nullptr;
    Range source;
    Range target;
    int count = 0;
    int after_block = -1;  ///< index of the thread block to wait for, or -1
    int after_step = -1;   ///< the step of it that must be done
};

/// A thread block: steps one after another, with one peer to send to and one to receive from.
struct Block {
    int send = -1;
    int receive = -1;
    int channel = 0;
    std::vector<Step> steps;
    std::size_t done = 0;
};

struct Gpu {
    std::vector<Block> blocks;
    int scratch = 0;  ///< chunks
};

struct Algorithm {
    Collective collective = Collective::kAllreduce;
    std::string name;
    int ranks = 1;
    int chunks = 1;  ///< of the vector, or of the whole of all blocks
    bool in_place = false;
    plan::Range bytes;      ///< that it is meant for: of the vector, or of one rank's block
    std::vector<Gpu> gpus;  ///< by rank
};

/// Throws Malformed, or what parse_xml() does.
Algorithm read(std::string_view text);

}  // namespace beeline::coll::plan::msccl
