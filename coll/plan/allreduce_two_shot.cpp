// SPDX-License-Identifier: BSD-3-Clause
// Two-shot allreduce: a direct reduce-scatter, then a direct allgather. E. Chan et al.,
// "Collective communication: theory, practice, and experience", Concurrency Computat. Pract.
// Exper. 19 (2007).
//
// Two steps; a rank sends 2(p-1)/p n bytes and reduces (p-1)/p n. Ordered: the owner of a block
// combines contributions in rank order. Scratch: p-1 blocks, nearly a vector.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "two_shot", request.size);
    emit.schedule().ordered = true;
    const int own = request.rank;
    const auto term = [&](int rank) {
        return rank == own ? emit.own(index(own)) : emit.slot(other_index(own, rank), index(own));
    };
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = previous(request, distance);
        emit.receive(peer, term(peer));
    }
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = next(request, distance);
        emit.send(peer, emit.own(index(peer)));
    }
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = previous(request, distance);
        emit.receive(peer, emit.output(index(peer)));
    }
    reduce_in_order(emit, request.size, own, emit.output(index(own)), 1, term);
    for (int distance = 1; distance < request.size; ++distance) {
        emit.send(next(request, distance), emit.output(index(own)));
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 2.0 : 0.0, 2 * (p - 1) / p * bytes, (p - 1) / p * bytes, 0, 0, 2 * (p - 1)};
}

}  // namespace

constinit const Algorithm kAllreduceTwoShot = {
    Collective::kAllreduce, "two_shot", "Chan et al. 2007", false, never, build, cost, true};

}  // namespace beeline::coll::plan
