// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a binomial tree. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// ceil(log2 p) steps; the root sends ceil(log2 p) n bytes.
#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "binomial");
    const int size = request.size;
    const int self = pattern::from_root(size, request.rank, request.root);
    const auto rank_of = [&](int place) { return pattern::to_rank(size, place, request.root); };
    if (self != 0) {
        emit.receive(rank_of(pattern::binomial_parent(self)), emit.output());
    }
    for (int k = pattern::binomial_height(size, self) - 1; k >= 0; --k) {
        const int child = self + (1 << k);
        if (child < size) {
            emit.send(rank_of(child), emit.output());
        }
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double steps = pattern::log2_up(request.size);
    return {steps, steps * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kBcastBinomial = {Collective::kBcast,
                                            "binomial",
                                            "Thakur, Rabenseifner and Gropp 2005",
                                            false,
                                            never,
                                            build,
                                            cost};

}  // namespace beeline::coll::plan
