// SPDX-License-Identifier: BSD-3-Clause
// The choice of an allreduce schedule.
#include "coll/select/select.hpp"

namespace beeline::coll::select {
namespace {

/// Long enough that a message and a kernel launch cost little against moving it, short enough that
/// a chunk of a long vector has several to overlap.
constexpr std::size_t kSliceBytes = std::size_t{4} << 20;

// The words of coll_allreduce_algorithm in params.def, in their order.
enum class Wanted : int { kAuto, kRing, kRecursiveDoubling, kStaged };

Choice ring(const AllreduceFacts& facts, const char* reason) noexcept {
    return {Algorithm::kRing, kSliceBytes / kernel::size_of(facts.type), reason};
}

}  // namespace

const char* to_string(Algorithm algorithm) noexcept {
    switch (algorithm) {
        case Algorithm::kRing:
            return "ring";
        case Algorithm::kRecursiveDoubling:
            return "recursive_doubling";
        case Algorithm::kStaged:
            return "staged";
    }
    return "?";
}

Choice choose(const AllreduceFacts& facts, const config::Params& params) noexcept {
    if (!kernel::supported(facts.type, facts.op)) {
        return {Algorithm::kStaged, 0, "no kernel for this type and operation"};
    }
    switch (static_cast<Wanted>(params.coll_allreduce_algorithm)) {
        case Wanted::kRing:
            return ring(facts, "coll_beeline_allreduce_algorithm asks for it");
        case Wanted::kRecursiveDoubling:
            return {Algorithm::kRecursiveDoubling, 0,
                    "coll_beeline_allreduce_algorithm asks for it"};
        case Wanted::kStaged:
            return {Algorithm::kStaged, 0, "coll_beeline_allreduce_algorithm asks for it"};
        case Wanted::kAuto:
            break;
    }
    const std::size_t bytes = facts.count * kernel::size_of(facts.type);
    if (bytes >= params.coll_allreduce_ring_min &&
        facts.count >= static_cast<std::size_t>(facts.size)) {
        return ring(facts, "long vector: the ring sends and reduces the least");
    }
    return {Algorithm::kRecursiveDoubling, 0, "short vector: fewest steps"};
}

}  // namespace beeline::coll::select
