// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by PAT's reduce-scatter and allgather. Source: S. Jeaugey, "PAT: a new algorithm for
// all-gather and reduce-scatter operations at scale", arXiv 2506.20252 (2025).
//
// 2 ceil(log2 p) steps for p up to 64, 2(p-1)/p n bytes a rank for every p, as 2(p-1) messages.
// Reduces (p-1)/p n. Not ordered. Scratch: as of the reduce-scatter, so little where ranks are
// many.
#include "coll/plan/pat.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "pat", request.size);
    if (request.size == 1) {
        emit.copy(emit.output(), emit.own());
        return emit.take();
    }
    PatReduceScatter(emit, request, emit.own(), emit.output(index(request.rank))).run();
    pat_allgather(emit, request, emit.output());
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    const double share = (p - 1) / p * bytes;
    return {pat_steps(request.size) + pattern::log2_up(request.size),
            2 * share,
            share,
            0,
            0,
            2 * (p - 1)};
}

}  // namespace

constinit const Algorithm kAllreducePat = {
    Collective::kAllreduce, "pat", "Jeaugey 2025", false, if_not_commutative, build, cost};

}  // namespace beeline::coll::plan
