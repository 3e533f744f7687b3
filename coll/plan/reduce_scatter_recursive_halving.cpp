// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization
// of collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// The distance halves with the run of blocks, so that every rank ends with its own. Steps
// log2(power), and two more for sizes that are not a power of two: of folded neighbours the odd one
// works on the blocks of both. About p-1 blocks sent and reduced, and p more where a neighbour is
// folded. Not ordered. Scratch: two vectors.
#include "coll/pattern/doubling.hpp"
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

/// The first block of an acting rank: those of both folded neighbours follow each other.
int first_block(int size, int acting) noexcept {
    return std::min(acting, pattern::fold(size).extra) + acting;
}

void act(Emitter& emit, int size, int rank) {
    const int self = pattern::acting_index(size, rank);
    const bool folds = pattern::folds_neighbour(size, rank);
    const Place sums = emit.mirror(0);
    const Place landing = emit.mirror(1);
    Place held = emit.input();
    if (folds) {
        emit.receive(pattern::fold_partner(rank), landing, index(size));
        emit.reduce(sums, landing, held, index(size));
        held = sums;
    }
    int low = 0;
    for (int half = pattern::fold(size).power / 2; half > 0; half /= 2) {
        const bool upper = (self & half) != 0;
        const int kept = upper ? low + half : low;
        const int given = upper ? low : low + half;
        const int peer = pattern::acting_rank(size, self ^ half);
        const auto run = [&](int acting, auto&& use) {
            const int first = first_block(size, acting);
            use(index(first), index(first_block(size, acting + half) - first));
        };
        run(kept, [&](std::uint32_t first, std::uint32_t count) {
            emit.receive(peer, landing + first, count);
        });
        run(given, [&](std::uint32_t first, std::uint32_t count) {
            emit.send(peer, held + first, count);
        });
        run(kept, [&](std::uint32_t first, std::uint32_t count) {
            const bool last = half == 1 && !folds;
            emit.reduce(last ? emit.output() : sums + first, landing + first, held + first, count);
        });
        held = sums;
        low = kept;
    }
    if (folds) {
        emit.send(pattern::fold_partner(rank), held + index(rank - 1));
        emit.copy(emit.output(), held + index(rank));
    }
}

Schedule build(const Request& request) {
    Emitter emit(request, "recursive_halving");
    if (request.size == 1) {
        emit.copy(emit.output(), emit.input());
    } else if (pattern::folded(request.size, request.rank)) {
        const int partner = pattern::fold_partner(request.rank);
        emit.receive(partner, emit.output());
        emit.send(partner, emit.input(), index(request.size));
    } else {
        act(emit, request.size, request.rank);
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const pattern::Fold fold = pattern::fold(request.size);
    const double p = ranks(request);
    const double folds = fold.extra > 0 ? 1 : 0;
    const double blocks = (1 - 1.0 / fold.power + folds) * p;
    return {pattern::doubling_steps(request.size) + 2 * folds, blocks * bytes, blocks * bytes, 0,
            0};
}

}  // namespace

constinit const Algorithm kReduceScatterRecursiveHalving = {Collective::kReduceScatter,
                                                            "recursive_halving",
                                                            "Thakur, Rabenseifner and Gropp 2005",
                                                            false,
                                                            if_not_commutative,
                                                            build,
                                                            cost};

}  // namespace beeline::coll::plan
