// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter in which every rank sends each block to its owner. E. Chan et al., "Collective
// communication: theory, practice, and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; a rank sends p-1 blocks and reduces p-1. Ordered. Scratch: p-1 blocks.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "direct");
    emit.schedule().ordered = true;
    const int own = request.rank;
    const auto term = [&](int rank) {
        return rank == own ? emit.input(index(own)) : emit.slot(other_index(own, rank), index(own));
    };
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = previous(request, distance);
        emit.receive(peer, term(peer));
    }
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = next(request, distance);
        emit.send(peer, emit.input(index(peer)));
    }
    reduce_in_order(emit, request.size, own, emit.output(), 1, term);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, (p - 1) * bytes, 0, 0, p - 1};
}

}  // namespace

constinit const Algorithm kReduceScatterDirect = {
    Collective::kReduceScatter, "direct", "Chan et al. 2007", false, never, build, cost, true};

}  // namespace beeline::coll::plan
