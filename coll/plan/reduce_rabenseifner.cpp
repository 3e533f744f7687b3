// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's reduce: recursive halving, then a gather to the root. Source: R. Thakur, R.
// Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", Int. J.
// High Perform. Comput. Appl. 19 (2005); halved as in the allreduce of that name.
//
// Steps 2 log2(power), and two more for sizes that are not a power of two; 2(power-1)/power n bytes
// (n more where neighbours are folded), reduces half of that. Ordered. Scratch: a vector, two where
// there is no output.
#include "coll/plan/entries.hpp"
#include "coll/plan/halving.hpp"

namespace beeline::coll::plan {
namespace {

void act(Emitter& emit, const Request& request, Place work) {
    const int size = request.size;
    const int self = pattern::acting_index(size, request.rank);
    const bool root_is_folded = pattern::folded(size, request.root);
    const int target = root_is_folded ? pattern::fold_partner(request.root) : request.root;
    const int target_index = pattern::acting_index(size, target);
    const std::vector<BlockRun> runs = halving_runs(size, self);
    halving_reduce_scatter(emit, size, request.rank, runs, work, emit.mirror(0));
    // Runs come together towards the target: in step s those take part that agree with it in all
    // higher bits of their numbers.
    for (int step = pattern::doubling_steps(size) - 1; step >= 0; --step) {
        if ((self ^ target_index) >> (step + 1) != 0) {
            break;
        }
        const int peer = pattern::doubling_peer(size, request.rank, step);
        if (((self ^ target_index) >> step & 1) == 0) {
            const BlockRun theirs = other_half(runs, step);
            emit.receive(peer, work + theirs.first, theirs.count);
        } else {
            const BlockRun& mine = runs[static_cast<std::size_t>(step) + 1];
            emit.send(peer, work + mine.first, mine.count);
        }
    }
    if (root_is_folded && request.rank == target) {
        emit.send(request.root, work, runs[0].count);
    }
}

Schedule build(const Request& request) {
    const int power = pattern::fold(request.size).power;
    Emitter emit(request, "rabenseifner", power);
    emit.schedule().ordered = true;
    const bool at_root = request.rank == request.root;
    if (request.size == 1) {
        emit.copy(emit.output(), emit.own());
    } else if (pattern::folded(request.size, request.rank)) {
        const int partner = pattern::fold_partner(request.rank);
        emit.send(partner, emit.own(), index(power));
        if (at_root) {
            emit.receive(partner, emit.output(), index(power));
        }
    } else {
        act(emit, request, at_root ? emit.output() : emit.mirror(1));
    }
    return emit.take();
}

}  // namespace

constinit const Algorithm kReduceRabenseifner = {Collective::kReduce,
                                                 "rabenseifner",
                                                 "Thakur, Rabenseifner and Gropp 2005",
                                                 false,
                                                 never,
                                                 build,
                                                 halving_doubling_cost};

}  // namespace beeline::coll::plan
