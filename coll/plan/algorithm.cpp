// SPDX-License-Identifier: BSD-3-Clause
// The table of all algorithms.
#include "coll/plan/algorithm.hpp"

#include <iterator>

#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

constexpr const Algorithm* kTable[] = {
    &kAllreduceOneShot,
    &kAllreduceTwoShot,
    &kAllreduceRing,
    &kAllreduceRecursiveDoubling,
    &kAllreduceRabenseifner,
    &kAllreduceDoubleTree,
    &kAllreduceBruck,
    &kAllreducePat,
    &kAllreduceBine,
    &kAllreduceHierarchical,
    &kBcastBinomial,
    &kBcastScatterAllgather,
    &kBcastChain,
    &kBcastDoubleTree,
    &kReduceLinear,
    &kReduceBinomial,
    &kReduceRabenseifner,
    &kAllgatherDirect,
    &kAllgatherRing,
    &kAllgatherBruck,
    &kAllgatherPat,
    &kAllgatherRecursiveDoubling,
    &kReduceScatterDirect,
    &kReduceScatterRing,
    &kReduceScatterRecursiveHalving,
    &kReduceScatterBruck,
    &kReduceScatterPat,
    &kAlltoallDirect,
    &kAlltoallPairwise,
    &kAlltoallBruck,
    &kGatherLinear,
    &kGatherBinomial,
    &kScatterLinear,
    &kScatterBinomial,
    &kScanLinear,
    &kScanRecursiveDoubling,
    &kExscanLinear,
    &kExscanRecursiveDoubling,
    &kBarrierDissemination,
    &kNeighborAllgatherDirect,
    &kNeighborAlltoallDirect,
};

}  // namespace

std::span<const Algorithm* const> algorithms() noexcept {
    return kTable;
}

std::span<const Algorithm* const> algorithms(Collective collective) noexcept {
    std::size_t first = 0;
    while (first < std::size(kTable) && kTable[first]->collective != collective) {
        ++first;
    }
    std::size_t last = first;
    while (last < std::size(kTable) && kTable[last]->collective == collective) {
        ++last;
    }
    return std::span<const Algorithm* const>(kTable).subspan(first, last - first);
}

const Algorithm* find(Collective collective, std::string_view name) noexcept {
    for (const Algorithm* algorithm : algorithms(collective)) {
        if (name == algorithm->name) {
            return algorithm;
        }
    }
    return nullptr;
}

bool find(std::string_view name, Collective& collective) noexcept {
    for (int number = 0; number < kCollectives; ++number) {
        if (name == to_string(static_cast<Collective>(number))) {
            collective = static_cast<Collective>(number);
            return true;
        }
    }
    return false;
}

const char* refuses(const Algorithm& algorithm, const Request& request) noexcept {
    if (request.collective != algorithm.collective) {
        return "it is for another collective";
    }
    if (request.size < 1 || request.rank < 0 || request.rank >= request.size) {
        return "the rank is not in the communicator";
    }
    if (request.slices < 1) {
        return "there must be a slice";
    }
    if (rooted(request.collective) && (request.root < 0 || request.root >= request.size)) {
        return "the root is not in the communicator";
    }
    if (!on_vector(request.collective) && request.cut == Cut::kEven) {
        return "blocks of ranks are not cut evenly";
    }
    if (request.collective == Collective::kReduceScatter && request.cut == Cut::kScattered) {
        return "blocks of a vector follow each other";
    }
    if (request.in_place &&
        (request.collective == Collective::kReduceScatter || on_neighbors(request.collective))) {
        return "it is never in place";
    }
    if (!request.node_of.empty() &&
        request.node_of.size() != static_cast<std::size_t>(request.size)) {
        return "each rank must have a node";
    }
    return algorithm.refuses(request);
}

}  // namespace beeline::coll::plan
