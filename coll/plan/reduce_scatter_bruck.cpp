// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter as the time reversal of Bruck's allgather. Sources: J. Bruck et al., "Efficient
// algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8
// (1997); S. Jeaugey, "PAT", arXiv 2506.20252 (2025).
//
// ceil(log2 p) steps and p-1 blocks for every p: no fold. Reduces p-1 blocks. Not ordered. Scratch:
// two vectors.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "bruck");
    if (request.size == 1) {
        emit.copy(emit.output(), emit.input());
        return emit.take();
    }
    bruck_reduce_scatter(emit, request.size, request.rank, emit.input(), emit.mirror(1),
                         emit.mirror(0), emit.output(), [](int rank) { return rank; });
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {static_cast<double>(pattern::log2_up(request.size)), (p - 1) * bytes, (p - 1) * bytes,
            0, 0};
}

}  // namespace

constinit const Algorithm kReduceScatterBruck = {Collective::kReduceScatter,
                                                 "bruck",
                                                 "Bruck et al. 1997, Jeaugey 2025",
                                                 false,
                                                 if_not_commutative,
                                                 build,
                                                 cost};

}  // namespace beeline::coll::plan
