// SPDX-License-Identifier: BSD-3-Clause
// Scatter in which the root sends to all. E. Chan et al., "Collective communication: theory,
// practice, and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; the root sends p-1 blocks.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "linear");
    if (request.rank != request.root) {
        emit.receive(request.root, emit.output());
        return emit.take();
    }
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = next(request, distance);
        emit.send(peer, emit.input(index(peer)));
    }
    if (!request.in_place) {
        emit.copy(emit.output(), emit.input(index(request.rank)));
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kScatterLinear = {
    Collective::kScatter, "linear", "Chan et al. 2007", false, never, build, cost};

}  // namespace beeline::coll::plan
