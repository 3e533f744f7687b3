// SPDX-License-Identifier: BSD-3-Clause
// Gather along a binomial tree. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// ceil(log2 p) steps; the root receives p-1 blocks. Equal blocks only: a rank must know those of
// its subtree. Scratch: the blocks of the subtree.
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
    const bool leaf = self != 0 && pattern::binomial_ranks(size, self, height) == 1;
    const Place gathered = leaf ? emit.input() : Place{Buffer::kSlot, 0, 0};
    // What goes to the root lies there as one run or two.
    const auto to_root = [&](int first, int count, auto&& piece) {
        on_ring(size, request.root + first, count, piece);
    };
    for (int k = 0; k < height; ++k) {
        const int child = self + (1 << k);
        if (child >= size) {
            break;
        }
        const int count = pattern::binomial_ranks(size, child, k);
        if (self == 0) {
            to_root(child, count, [&](std::uint32_t first, std::uint32_t number) {
                emit.receive(rank_of(child), emit.output(first), number);
            });
        } else {
            emit.receive(rank_of(child), gathered + index(child - self), index(count));
        }
    }
    if (self == 0) {
        if (!request.in_place) {
            emit.copy(emit.output(index(request.root)), emit.input());
        }
        return emit.take();
    }
    if (!leaf) {
        emit.copy(gathered, emit.input());
    }
    const int parent = pattern::binomial_parent(self);
    const int count = pattern::binomial_ranks(size, self, height);
    if (parent != 0) {
        emit.send(rank_of(parent), gathered, index(count));
        return emit.take();
    }
    std::uint32_t done = 0;
    to_root(self, count, [&](std::uint32_t, std::uint32_t number) {
        emit.send(request.root, gathered + done, number);
        done += number;
    });
    return emit.take();
}

}  // namespace

constinit const Algorithm kGatherBinomial = {Collective::kGather,
                                             "binomial",
                                             "Thakur, Rabenseifner and Gropp 2005",
                                             false,
                                             unless_equal,
                                             build,
                                             binomial_blocks_cost};

}  // namespace beeline::coll::plan
