// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, each defined in the file of its name; algorithm.cpp puts them into one table.
#pragma once

#include "coll/plan/algorithm.hpp"
#include "coll/plan/emitter.hpp"
#include "coll/pattern/chunks.hpp"

namespace beeline::coll::plan {

// NOLINTBEGIN(readability-identifier-naming): constants, though a declaration does not show it
extern const Algorithm kAllreduceOneShot;
extern const Algorithm kAllreduceTwoShot;
extern const Algorithm kAllreduceRing;
extern const Algorithm kAllreduceRecursiveDoubling;
extern const Algorithm kAllreduceRabenseifner;
extern const Algorithm kAllreduceDoubleTree;
extern const Algorithm kAllreduceBruck;
extern const Algorithm kAllreducePat;
extern const Algorithm kAllreduceBine;
extern const Algorithm kAllreduceHierarchical;
extern const Algorithm kBcastBinomial;
extern const Algorithm kBcastScatterAllgather;
extern const Algorithm kBcastChain;
extern const Algorithm kBcastDoubleTree;
extern const Algorithm kReduceLinear;
extern const Algorithm kReduceBinomial;
extern const Algorithm kReduceRabenseifner;
extern const Algorithm kAllgatherDirect;
extern const Algorithm kAllgatherRing;
extern const Algorithm kAllgatherBruck;
extern const Algorithm kAllgatherPat;
extern const Algorithm kAllgatherRecursiveDoubling;
extern const Algorithm kReduceScatterDirect;
extern const Algorithm kReduceScatterRing;
extern const Algorithm kReduceScatterRecursiveHalving;
extern const Algorithm kReduceScatterBruck;
extern const Algorithm kReduceScatterPat;
extern const Algorithm kAlltoallDirect;
extern const Algorithm kAlltoallPairwise;
extern const Algorithm kAlltoallBruck;
extern const Algorithm kGatherLinear;
extern const Algorithm kGatherBinomial;
extern const Algorithm kScatterLinear;
extern const Algorithm kScatterBinomial;
extern const Algorithm kScanLinear;
extern const Algorithm kScanRecursiveDoubling;
extern const Algorithm kExscanLinear;
extern const Algorithm kExscanRecursiveDoubling;
extern const Algorithm kBarrierDissemination;
extern const Algorithm kNeighborAllgatherDirect;
extern const Algorithm kNeighborAlltoallDirect;
// NOLINTEND(readability-identifier-naming)

// --- helpers for their files

constexpr std::uint32_t index(int value) noexcept {
    return static_cast<std::uint32_t>(value);
}

constexpr int next(const Request& request, int distance) noexcept {
    return (request.rank + distance) % request.size;
}

constexpr int previous(const Request& request, int distance) noexcept {
    return (request.rank - distance + request.size) % request.size;
}

/// Serves every request of its collective.
inline const char* never(const Request&) noexcept {
    return nullptr;
}

inline const char* if_not_commutative(const Request& request) noexcept {
    return request.commutative ? nullptr : "the operation does not commute";
}

inline const char* unless_equal(const Request& request) noexcept {
    return request.cut == Cut::kEqual ? nullptr : "blocks differ in size";
}

/// Ranks as a number for costs.
constexpr double ranks(const Request& request) noexcept {
    return request.size;
}

}  // namespace beeline::coll::plan
