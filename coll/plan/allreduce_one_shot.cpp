// SPDX-License-Identifier: BSD-3-Clause
// One-shot allreduce: every rank sends its vector to all others and reduces what it gets. The
// direct method for short vectors in E. Chan et al., "Collective communication: theory, practice,
// and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; a rank sends (p-1) n bytes and reduces (p-1) n. Ordered: each rank combines the
// vectors in rank order. Scratch: p-1 vectors.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "one_shot");
    emit.schedule().ordered = true;
    const int own = request.rank;
    const auto term = [&](int rank) {
        return rank == own ? emit.own() : emit.mirror(other_index(own, rank));
    };
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = previous(request, distance);
        emit.receive(peer, term(peer));
    }
    for (int distance = 1; distance < request.size; ++distance) {
        emit.send(next(request, distance), emit.own());
    }
    reduce_in_order(emit, request.size, own, emit.output(), 1, term);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, (p - 1) * bytes, 0, 0, p - 1};
}

}  // namespace

constinit const Algorithm kAllreduceOneShot = {
    Collective::kAllreduce, "one_shot", "Chan et al. 2007", false, never, build, cost, true};

}  // namespace beeline::coll::plan
