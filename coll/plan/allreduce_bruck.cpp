// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by Bruck's allgather and its time reversal. Sources: J. Bruck et al., "Efficient
// algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8
// (1997); S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
// scale", arXiv 2506.20252 (2025), which reverses it in time to reduce.
//
// Steps 2 ceil(log2 p) and 2(p-1)/p n bytes a rank for every p: no fold. Reduces (p-1)/p n. Not
// ordered. Runs that pass the end of the vector travel as two messages. Scratch: a vector.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "bruck", request.size);
    if (request.size == 1) {
        emit.copy(emit.output(), emit.own());
        return emit.take();
    }
    const auto itself = [](int rank) { return rank; };
    bruck_reduce_scatter(emit, request.size, request.rank, emit.own(), emit.output(),
                         emit.mirror(0), emit.output(index(request.rank)), itself);
    bruck_allgather(emit, request.size, request.rank, emit.output(), itself);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    const double share = (p - 1) / p * bytes;
    return {2.0 * pattern::log2_up(request.size), 2 * share, share, 0, 0};
}

}  // namespace

constinit const Algorithm kAllreduceBruck = {Collective::kAllreduce,
                                             "bruck",
                                             "Bruck et al. 1997, Jeaugey 2025",
                                             false,
                                             if_not_commutative,
                                             build,
                                             cost};

}  // namespace beeline::coll::plan
