// SPDX-License-Identifier: BSD-3-Clause
// PAT reduce-scatter. Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter
// operations at scale", arXiv 2506.20252 (2025).
//
// ceil(log2 p) steps for p up to 64, then 6 for each 64 blocks; a rank sends p-1 blocks, each as a
// message of its own, and reduces p-1. Not ordered. Scratch: 63 blocks and one for each power of
// two of ranks above 64; below, less than 2p.
#include "coll/plan/pat.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "pat");
    if (request.size == 1) {
        emit.copy(emit.output(), emit.input());
    } else {
        PatReduceScatter(emit, request, emit.input(), emit.output()).run();
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {pat_steps(request.size), (p - 1) * bytes, (p - 1) * bytes, 0, 0, p - 1};
}

}  // namespace

constinit const Algorithm kReduceScatterPat = {
    Collective::kReduceScatter, "pat", "Jeaugey 2025", false, if_not_commutative, build, cost};

}  // namespace beeline::coll::plan
