// SPDX-License-Identifier: BSD-3-Clause
// Bruck's allgather. Source: J. Bruck et al., "Efficient algorithms for all-to-all communications
// in multiport message-passing systems", IEEE TPDS 8 (1997); blocks go to their places at once, so
// nothing is rotated at the end and a run that passes the last rank is two messages.
//
// ceil(log2 p) steps for every p; a rank sends p-1 blocks. Blocks that lie anywhere travel as
// messages of their own.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "bruck");
    if (!request.in_place) {
        emit.copy(emit.output(index(request.rank)), emit.input());
    }
    bruck_allgather(emit, request.size, request.rank, emit.output(), [](int rank) { return rank; });
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    const bool many = request.cut == Cut::kScattered;
    return {many ? p - 1 : pattern::log2_up(request.size), (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAllgatherBruck = {
    Collective::kAllgather, "bruck", "Bruck et al. 1997", false, never, build, cost};

}  // namespace beeline::coll::plan
