// SPDX-License-Identifier: BSD-3-Clause
// Reduce: all send to the root, which combines in rank order. E. Chan et al., "Collective
// communication: theory, practice, and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; the root receives and reduces (p-1) n bytes. Ordered. Scratch at the root: p-1 vectors.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "linear");
    emit.schedule().ordered = true;
    if (request.rank != request.root) {
        emit.send(request.root, emit.own());
        return emit.take();
    }
    const auto term = [&](int rank) {
        return rank == request.root ? emit.own() : emit.mirror(other_index(request.root, rank));
    };
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = next(request, distance);
        emit.receive(peer, term(peer));
    }
    reduce_in_order(emit, request.size, request.root, emit.output(), 1, term);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, (p - 1) * bytes, 0, 0, p - 1};
}

}  // namespace

constinit const Algorithm kReduceLinear = {
    Collective::kReduce, "linear", "Chan et al. 2007", false, never, build, cost, true};

}  // namespace beeline::coll::plan
