// SPDX-License-Identifier: BSD-3-Clause
// Which schedule a collective runs, from facts that are equal on all ranks.
#pragma once

#include <cstddef>

#include "coll/kernel/types.hpp"
#include "config/config.hpp"

namespace beeline::coll::select {

enum class Algorithm {
    kRing,
    kRecursiveDoubling,
    kStaged,  ///< the previously selected module, on host copies
};
inline constexpr std::size_t kAlgorithms = 3;

const char* to_string(Algorithm algorithm) noexcept;

/// The facts. Every rank of the communicator must come to the same ones.
struct AllreduceFacts {
    int size = 1;
    std::size_t count = 0;
    kernel::Type type = kernel::Type::kU8;
    kernel::Op op = kernel::Op::kSum;
};

struct Choice {
    Algorithm algorithm = Algorithm::kStaged;
    std::size_t slice = 0;    ///< elements of a ring message at most; 0: whole chunks
    const char* reason = "";  ///< why, for people; never null
};

/// Ring for long vectors, recursive doubling for short ones, unless coll_allreduce_algorithm says
/// otherwise. What the kernels don't support is staged, whatever was asked for.
Choice choose(const AllreduceFacts& facts, const config::Params& params) noexcept;

}  // namespace beeline::coll::select
