// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's allreduce: recursive halving, then recursive doubling. Source: R. Thakur, R.
// Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", Int. J.
// High Perform. Comput. Appl. 19 (2005); the distance doubles while the vector halves, and
// neighbours are folded, so that operands keep the rank order for every size.
//
// Steps 2 log2(power), and two more for sizes that are not a power of two; a rank sends
// 2(power-1)/power n bytes, one that folds a neighbour n more, and reduces half of that. Ordered.
// Scratch: a vector.
#include "coll/plan/entries.hpp"
#include "coll/plan/halving.hpp"

namespace beeline::coll::plan {
namespace {

void act(Emitter& emit, int size, int rank) {
    const std::vector<BlockRun> runs = halving_runs(size, pattern::acting_index(size, rank));
    halving_reduce_scatter(emit, size, rank, runs, emit.output(), emit.mirror(0));
    for (int step = pattern::doubling_steps(size) - 1; step >= 0; --step) {
        const int peer = pattern::doubling_peer(size, rank, step);
        const BlockRun theirs = other_half(runs, step);
        const BlockRun& mine = runs[static_cast<std::size_t>(step) + 1];
        emit.receive(peer, emit.output(theirs.first), theirs.count);
        emit.send(peer, emit.output(mine.first), mine.count);
    }
    if (pattern::folds_neighbour(size, rank)) {
        emit.send(pattern::fold_partner(rank), emit.output(), runs[0].count);
    }
}

Schedule build(const Request& request) {
    const int power = pattern::fold(request.size).power;
    Emitter emit(request, "rabenseifner", power);
    emit.schedule().ordered = true;
    if (request.size == 1) {
        emit.copy(emit.output(), emit.own());
    } else if (pattern::folded(request.size, request.rank)) {
        const int partner = pattern::fold_partner(request.rank);
        emit.send(partner, emit.own(), index(power));
        emit.receive(partner, emit.output(), index(power));
    } else {
        act(emit, request.size, request.rank);
    }
    return emit.take();
}

}  // namespace

constinit const Algorithm kAllreduceRabenseifner = {Collective::kAllreduce,
                                                    "rabenseifner",
                                                    "Thakur, Rabenseifner and Gropp 2005",
                                                    false,
                                                    never,
                                                    build,
                                                    halving_doubling_cost};

}  // namespace beeline::coll::plan
