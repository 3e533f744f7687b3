// SPDX-License-Identifier: BSD-3-Clause
// Allgather in which every rank sends its block to all others. E. Chan et al., "Collective
// communication: theory, practice, and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; a rank sends its block p-1 times.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "direct");
    const Place own = emit.output(index(request.rank));
    const Place given = request.in_place ? own : emit.input();
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = previous(request, distance);
        emit.receive(peer, emit.output(index(peer)));
    }
    for (int distance = 1; distance < request.size; ++distance) {
        emit.send(next(request, distance), given);
    }
    emit.copy(own, given);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAllgatherDirect = {
    Collective::kAllgather, "direct", "Chan et al. 2007", false, never, build, cost};

}  // namespace beeline::coll::plan
