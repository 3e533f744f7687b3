// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter around a ring: the first half of the allreduce of P. Patarasu, X. Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69
// (2009).
//
// p-1 steps of one block between neighbours; reduces p-1 blocks. Not ordered. Scratch: two blocks.
#include "coll/pattern/ring.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "ring");
    const int size = request.size;
    const int rank = request.rank;
    // Block b starts at its owner's next rank and comes home after p-1 steps.
    const auto block = [&](int step) { return index(pattern::ring_back(size, rank, step + 1)); };
    const auto landing = [&](int step) { return emit.slot(index(step % 2), block(step)); };
    const auto receive = [&](int step) {
        if (step < size) {
            emit.receive(pattern::ring_previous(size, rank), landing(step));
        }
    };
    receive(1);
    for (int step = 0; step + 1 < size; ++step) {
        emit.send(pattern::ring_next(size, rank), step == 0 ? emit.input(block(0)) : landing(step));
        receive(step + 2);
        const bool home = step + 2 == size;
        emit.reduce(home ? emit.output() : landing(step + 1), landing(step + 1),
                    emit.input(block(step + 1)));
    }
    if (size == 1) {
        emit.copy(emit.output(), emit.input());
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p - 1, (p - 1) * bytes, (p - 1) * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kReduceScatterRing = {Collective::kReduceScatter,
                                                "ring",
                                                "Patarasu and Yuan 2009",
                                                false,
                                                if_not_commutative,
                                                build,
                                                cost};

}  // namespace beeline::coll::plan
