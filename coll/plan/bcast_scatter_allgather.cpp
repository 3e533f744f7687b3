// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long vectors: a binomial scatter, then an allgather. Source: R. van de Geijn, "On
// global combine operations", J. Parallel Distrib. Comput. 22 (1994); the allgather is Bruck's, so
// that the number of steps is logarithmic for every p.
//
// 2 ceil(log2 p) steps; the root sends 2(p-1)/p n bytes.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "scatter_allgather", request.size);
    const int size = request.size;
    const int self = pattern::from_root(size, request.rank, request.root);
    const auto rank_of = [&](int place) { return pattern::to_rank(size, place, request.root); };
    const int height = pattern::binomial_height(size, self);
    if (self != 0) {
        emit.receive(rank_of(pattern::binomial_parent(self)), emit.output(index(self)),
                     index(pattern::binomial_ranks(size, self, height)));
    }
    for (int k = height - 1; k >= 0; --k) {
        const int child = self + (1 << k);
        if (child < size) {
            emit.send(rank_of(child), emit.output(index(child)),
                      index(pattern::binomial_ranks(size, child, k)));
        }
    }
    bruck_allgather(emit, size, self, emit.output(), rank_of);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {2.0 * pattern::log2_up(request.size), 2 * (p - 1) / p * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kBcastScatterAllgather = {
    Collective::kBcast, "scatter_allgather", "van de Geijn 1994", false, never, build, cost};

}  // namespace beeline::coll::plan
