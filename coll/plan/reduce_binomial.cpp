// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a binomial tree. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// ceil(log2 p) steps; the root receives and reduces ceil(log2 p) n bytes. An operation that does
// not commute is reduced to rank 0 in rank order, and the result sent to the root: one step more.
// Scratch: two vectors, three where there is no output.
#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "binomial");
    emit.schedule().ordered = !request.commutative;
    const int size = request.size;
    const int top = request.commutative ? request.root : 0;
    const int self = pattern::from_root(size, request.rank, top);
    const bool at_top_and_root = request.rank == top && top == request.root;
    const Place work = at_top_and_root ? emit.output() : Place{Buffer::kMirror, 0, 0};
    Place held = emit.own();
    for (int k = 0; k < pattern::binomial_height(size, self); ++k) {
        const int child = self + (1 << k);
        if (child < size) {
            const Place landing = emit.mirror(1 + index(k % 2));
            emit.receive(pattern::to_rank(size, child, top), landing);
            emit.reduce(work, held, landing);
            held = work;
        }
    }
    if (self != 0) {
        emit.send(pattern::to_rank(size, pattern::binomial_parent(self), top), held);
    } else if (top != request.root) {
        emit.send(request.root, held);
    } else {
        emit.copy(emit.output(), held);
    }
    if (top != request.root && request.rank == request.root) {
        emit.receive(top, emit.output());
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double steps = pattern::log2_up(request.size);
    const double forward = !request.commutative && request.root != 0 ? 1 : 0;
    return {steps + forward, (steps + forward) * bytes, steps * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kReduceBinomial = {Collective::kReduce,
                                             "binomial",
                                             "Thakur, Rabenseifner and Gropp 2005",
                                             false,
                                             never,
                                             build,
                                             cost};

}  // namespace beeline::coll::plan
