// SPDX-License-Identifier: BSD-3-Clause
// All-to-all with everything under way at once. E. Chan et al., "Collective communication: theory,
// practice, and experience", Concurrency Computat. Pract. Exper. 19 (2007).
//
// One step; a rank sends p-1 blocks. Peers are taken in the order of their distance, so that not
// all begin with the same one. Not in place.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "direct");
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = previous(request, distance);
        emit.receive(peer, emit.output(index(peer)));
    }
    for (int distance = 1; distance < request.size; ++distance) {
        const int peer = next(request, distance);
        emit.send(peer, emit.input(index(peer)));
    }
    emit.copy(emit.output(index(request.rank)), emit.input(index(request.rank)));
    return emit.take();
}

const char* refuses(const Request& request) noexcept {
    return request.in_place ? "blocks in place would be overwritten before they are sent" : nullptr;
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p > 1 ? 1.0 : 0.0, (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAlltoallDirect = {
    Collective::kAlltoall, "direct", "Chan et al. 2007", false, refuses, build, cost};

}  // namespace beeline::coll::plan
