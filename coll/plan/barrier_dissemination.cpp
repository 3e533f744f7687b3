// SPDX-License-Identifier: BSD-3-Clause
// Dissemination barrier. Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier
// synchronization", Int. J. Parallel Programming 17 (1988).
//
// ceil(log2 p) steps of an empty message.
#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "dissemination");
    for (int distance = 1; distance < request.size; distance *= 2) {
        emit.signal(next(request, distance));
        emit.await(previous(request, distance));
    }
    return emit.take();
}

Cost cost(const Request& request, double) noexcept {
    return {static_cast<double>(pattern::log2_up(request.size)), 0, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kBarrierDissemination = {Collective::kBarrier,
                                                   "dissemination",
                                                   "Hensgen, Finkel and Manber 1988",
                                                   false,
                                                   never,
                                                   build,
                                                   cost};

}  // namespace beeline::coll::plan
