// SPDX-License-Identifier: BSD-3-Clause
// Gather in which all send to the root. E. Chan et al., "Collective communication: theory,
// practice, and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; the root receives p-1 blocks.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "linear");
    if (request.rank != request.root) {
        emit.send(request.root, emit.input());
        return emit.take();
    }
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = next(request, distance);
        emit.receive(peer, emit.output(index(peer)));
    }
    if (!request.in_place) {
        emit.copy(emit.output(index(request.rank)), emit.input());
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kGatherLinear = {
    Collective::kGather, "linear", "Chan et al. 2007", false, never, build, cost};

}  // namespace beeline::coll::plan
