// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive vector halving in which the distance doubles, for the algorithms
// after Rabenseifner.
//
// In step s the acting ranks that differ in bit s exchange halves of the run of blocks they still
// work on. The groups that meet are neighbouring runs of ranks, so every sum keeps the rank order.
#pragma once

#include <vector>

#include "coll/pattern/doubling.hpp"
#include "coll/plan/algorithm.hpp"
#include "coll/plan/emitter.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {

/// A run of blocks.
struct BlockRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// The runs of an acting rank: before step 0 .. steps; the last has one block.
inline std::vector<BlockRun> halving_runs(int size, int acting) {
    std::vector<BlockRun> runs{{0, static_cast<std::uint32_t>(pattern::fold(size).power)}};
    for (int step = 0; step < pattern::doubling_steps(size); ++step) {
        const BlockRun run = runs.back();
        const std::uint32_t half = run.count / 2;
        runs.push_back({(acting >> step & 1) != 0 ? run.first + half : run.first, half});
    }
    return runs;
}

/// The other half of runs[step], which the peer of that step keeps.
inline BlockRun other_half(const std::vector<BlockRun>& runs, int step) {
    const BlockRun& whole = runs[static_cast<std::size_t>(step)];
    const BlockRun& kept = runs[static_cast<std::size_t>(step) + 1];
    return {whole.first == kept.first ? whole.first + kept.count : whole.first, kept.count};
}

/// The fold and the halving steps of an acting rank. Sums are made at `work`; messages land at
/// `work` before anything is there (unless the contribution is) and at `landing` afterwards.
inline void halving_reduce_scatter(Emitter& emit, int size, int rank,
                                   const std::vector<BlockRun>& runs, Place work, Place landing) {
    Place held = emit.own();
    const bool work_is_free = !(held == work);
    const auto meet = [&](int peer, BlockRun sent, BlockRun kept) {
        const Place into = held == emit.own() && work_is_free ? work : landing;
        emit.receive(peer, into + kept.first, kept.count);
        emit.send(peer, held + sent.first, sent.count);
        const Place mine = held + kept.first;
        const Place theirs = into + kept.first;
        emit.reduce(work + kept.first, peer < rank ? theirs : mine, peer < rank ? mine : theirs,
                    kept.count);
        held = work;
    };
    if (pattern::folds_neighbour(size, rank)) {
        meet(pattern::fold_partner(rank), {}, runs[0]);
    }
    for (int step = 0; step < pattern::doubling_steps(size); ++step) {
        meet(pattern::doubling_peer(size, rank, step), other_half(runs, step),
             runs[static_cast<std::size_t>(step) + 1]);
    }
}

/// The halving, and what brings the blocks together again by as many steps and bytes.
inline Cost halving_doubling_cost(const Request& request, double bytes) noexcept {
    const pattern::Fold fold = pattern::fold(request.size);
    const double folds = fold.extra > 0 ? 1 : 0;
    const double share = (fold.power - 1.0) / fold.power;
    return {2.0 * pattern::doubling_steps(request.size) + 2 * folds,
            (2 * share + 2 * folds) * bytes, (share + folds) * bytes, 0, 0};
}

}  // namespace beeline::coll::plan
