// SPDX-License-Identifier: BSD-3-Clause
// PAT allgather. Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter
// operations at scale", arXiv 2506.20252 (2025): Bruck's algorithm with its steps in the reverse
// order, so that the far ones carry little.
//
// ceil(log2 p) steps for every p; a rank sends p-1 blocks, each as a message of its own since those
// of a step do not follow each other. No scratch.
#include "coll/plan/pat.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "pat");
    if (!request.in_place) {
        emit.copy(emit.output(index(request.rank)), emit.input());
    }
    pat_allgather(emit, request, emit.output());
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {static_cast<double>(pattern::log2_up(request.size)), (p - 1) * bytes, 0, 0, 0, p - 1};
}

}  // namespace

constinit const Algorithm kAllgatherPat = {
    Collective::kAllgather, "pat", "Jeaugey 2025", false, never, build, cost};

}  // namespace beeline::coll::plan
