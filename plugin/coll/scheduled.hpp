// SPDX-License-Identifier: BSD-3-Clause
// Which schedules serve which entry point.
#pragma once

#include "coll/plan/schedule.hpp"
#include "plugin/coll/report.hpp"

namespace beeline::plugin::coll {

/// What a family of entry points is to the schedules.
struct Scheduled {
    bool served = false;  ///< false: no schedule serves it
    beeline::coll::plan::Collective collective = beeline::coll::plan::Collective::kBarrier;
    beeline::coll::plan::Cut cut = beeline::coll::plan::Cut::kEqual;
    /// Every rank knows how long all blocks are, so that the choice may depend on it.
    bool sizes_known = true;
};

/// One for each family of entries.def, by its name there.
namespace scheduled {
using beeline::coll::plan::Collective;
using beeline::coll::plan::Cut;

inline constexpr Scheduled kAllgather{true, Collective::kAllgather, Cut::kEqual, true};
inline constexpr Scheduled kAllgatherv{true, Collective::kAllgather, Cut::kScattered, true};
inline constexpr Scheduled kAllreduce{true, Collective::kAllreduce, Cut::kEven, true};
inline constexpr Scheduled kAlltoall{true, Collective::kAlltoall, Cut::kEqual, true};
inline constexpr Scheduled kAlltoallv{true, Collective::kAlltoall, Cut::kScattered, false};
inline constexpr Scheduled kAlltoallw{true, Collective::kAlltoall, Cut::kScattered, false};
inline constexpr Scheduled kBarrier{true, Collective::kBarrier, Cut::kEqual, true};
inline constexpr Scheduled kBcast{true, Collective::kBcast, Cut::kEven, true};
inline constexpr Scheduled kExscan{true, Collective::kExscan, Cut::kEven, true};
inline constexpr Scheduled kGather{true, Collective::kGather, Cut::kEqual, true};
inline constexpr Scheduled kGatherv{true, Collective::kGather, Cut::kScattered, false};
inline constexpr Scheduled kReduce{true, Collective::kReduce, Cut::kEven, true};
inline constexpr Scheduled kReduceScatter{true, Collective::kReduceScatter, Cut::kVarying, true};
inline constexpr Scheduled kReduceScatterBlock{true, Collective::kReduceScatter, Cut::kEqual, true};
inline constexpr Scheduled kScan{true, Collective::kScan, Cut::kEven, true};
inline constexpr Scheduled kScatter{true, Collective::kScatter, Cut::kEqual, true};
inline constexpr Scheduled kScatterv{true, Collective::kScatter, Cut::kScattered, false};
inline constexpr Scheduled kNeighborAllgather{true, Collective::kNeighborAllgather, Cut::kScattered,
                                              false};
inline constexpr Scheduled kNeighborAllgatherv{true, Collective::kNeighborAllgather,
                                               Cut::kScattered, false};
inline constexpr Scheduled kNeighborAlltoall{true, Collective::kNeighborAlltoall, Cut::kScattered,
                                             false};
inline constexpr Scheduled kNeighborAlltoallv{true, Collective::kNeighborAlltoall, Cut::kScattered,
                                              false};
inline constexpr Scheduled kNeighborAlltoallw{true, Collective::kNeighborAlltoall, Cut::kScattered,
                                              false};
inline constexpr Scheduled kReduceLocal{};
}  // namespace scheduled

consteval Scheduled scheduled_of(Entry entry) {
    switch (entry) {
#define BEELINE_ENTRY(name, family, form) \
    case Entry::k_##name:                 \
        return scheduled::family;
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
        case Entry::kCount:
            break;
    }
    return {};
}

}  // namespace beeline::plugin::coll
