// SPDX-License-Identifier: BSD-3-Clause
// Scatter along a binomial tree. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// ceil(log2 p) steps; the root sends p-1 blocks. Equal blocks only: a rank must know those of its
// subtree. Scratch: the blocks of the subtree.
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "binomial");
    const int size = request.size;
    const int self = pattern::from_root(size, request.rank, request.root);
    const auto rank_of = [&](int place) { return pattern::to_rank(size, place, request.root); };
    const int height = pattern::binomial_height(size, self);
    const int ranks_below = pattern::binomial_ranks(size, self, height);
    const Place run = ranks_below == 1 ? emit.output() : Place{Buffer::kSlot, 0, 0};
    const int parent = self == 0 ? 0 : pattern::binomial_parent(self);
    if (self != 0 && parent != 0) {
        emit.receive(rank_of(parent), run, index(ranks_below));
    } else if (self != 0) {
        // What comes from the root lay there as one run or two.
        std::uint32_t done = 0;
        on_ring(size, request.root + self, ranks_below, [&](std::uint32_t, std::uint32_t number) {
            emit.receive(request.root, run + done, number);
            done += number;
        });
    }
    for (int k = height - 1; k >= 0; --k) {
        const int child = self + (1 << k);
        if (child >= size) {
            continue;
        }
        const int count = pattern::binomial_ranks(size, child, k);
        if (self == 0) {
            on_ring(size, request.root + child, count,
                    [&](std::uint32_t first, std::uint32_t number) {
                        emit.send(rank_of(child), emit.input(first), number);
                    });
        } else {
            emit.send(rank_of(child), run + index(child - self), index(count));
        }
    }
    if (self == 0) {
        if (!request.in_place) {
            emit.copy(emit.output(), emit.input(index(request.root)));
        }
    } else if (ranks_below > 1) {
        emit.copy(emit.output(), run);
    }
    return emit.take();
}

}  // namespace

constinit const Algorithm kScatterBinomial = {Collective::kScatter,
                                              "binomial",
                                              "Thakur, Rabenseifner and Gropp 2005",
                                              false,
                                              unless_equal,
                                              build,
                                              binomial_blocks_cost};

}  // namespace beeline::coll::plan
