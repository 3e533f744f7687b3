// SPDX-License-Identifier: BSD-3-Clause
// The collective operations that schedules are for, and what each does with its buffers.
#pragma once

#include <cstdint>
#include <string_view>

namespace beeline::coll::plan {

/// The v and w forms, and reduce_scatter beside reduce_scatter_block, are the same collective with
/// blocks of other sizes (see Cut); iallreduce and persistent forms run the same schedules.
enum class Collective : std::uint8_t {
    kAllreduce,
    kBcast,
    kReduce,
    kAllgather,
    kReduceScatter,
    kAlltoall,
    kGather,
    kScatter,
    kScan,
    kExscan,
    kBarrier,
    kNeighborAllgather,
    kNeighborAlltoall,
};
inline constexpr int kCollectives = 13;

/// MPI's name in lower case: "allreduce", "reduce_scatter", "neighbor_alltoall" ...
constexpr const char* to_string(Collective collective) noexcept {
    constexpr const char* kNames[kCollectives] = {
        "allreduce",        "bcast",          "reduce",
        "allgather",        "reduce_scatter", "alltoall",
        "gather",           "scatter",        "scan",
        "exscan",           "barrier",        "neighbor_allgather",
        "neighbor_alltoall"};
    return kNames[static_cast<int>(collective)];
}

/// From the least to the greatest, both included.
struct Range {
    std::uint64_t least = 0;
    std::uint64_t greatest = UINT64_MAX;
    bool has(std::uint64_t value) const noexcept { return least <= value && value <= greatest; }
};

/// Has a root.
constexpr bool rooted(Collective collective) noexcept {
    return collective == Collective::kBcast || collective == Collective::kReduce ||
           collective == Collective::kGather || collective == Collective::kScatter;
}

/// Combines contributions by an operation.
constexpr bool reduces(Collective collective) noexcept {
    return collective == Collective::kAllreduce || collective == Collective::kReduce ||
           collective == Collective::kReduceScatter || collective == Collective::kScan ||
           collective == Collective::kExscan;
}

/// Works on one vector that the algorithm may cut as it likes. The others work on blocks that
/// belong to ranks.
constexpr bool on_vector(Collective collective) noexcept {
    return collective == Collective::kAllreduce || collective == Collective::kBcast ||
           collective == Collective::kReduce || collective == Collective::kScan ||
           collective == Collective::kExscan;
}

constexpr bool on_neighbors(Collective collective) noexcept {
    return collective == Collective::kNeighborAllgather ||
           collective == Collective::kNeighborAlltoall;
}

}  // namespace beeline::coll::plan
