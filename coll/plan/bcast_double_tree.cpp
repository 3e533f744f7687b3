// SPDX-License-Identifier: BSD-3-Clause
// Broadcast down two binary trees, each for half of the vector. Source: P. Sanders, J. Speck, J. L.
// Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35 (2009).
//
// The trees are on all ranks but the root, which sends a half to the top of each. With s slices of
// a half about ceil(log2 p) + s steps, each of n/s bytes for the two halves.
#include "coll/pattern/binomial.hpp"
#include "coll/pattern/double_tree.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "double_tree", 2, request.slices);
    const int others = request.size - 1;
    const int self = pattern::from_root(request.size, request.rank, request.root) - 1;
    const auto rank_of = [&](int place) {
        return pattern::to_rank(request.size, place + 1, request.root);
    };
    for (std::uint32_t slice = 0; slice < emit.slices() && others > 0; ++slice) {
        for (const int tree : {0, 1}) {
            const Place place = emit.output(index(tree) * emit.slices() + slice);
            if (self < 0) {
                emit.send(rank_of(pattern::double_tree_root(others, tree)), place, 1, tree);
                continue;
            }
            const pattern::TreeNode node = pattern::double_tree(others, self, tree);
            emit.receive(node.parent >= 0 ? rank_of(node.parent) : request.root, place, 1, tree);
            for (const int child : node.children) {
                if (child >= 0) {
                    emit.send(rank_of(child), place, 1, tree);
                }
            }
        }
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double slices = request.slices;
    const double hops = request.size > 1 ? pattern::log2_up(request.size) + slices : 0;
    return {hops, hops / slices * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kBcastDoubleTree = {
    Collective::kBcast, "double_tree", "Sanders, Speck and Traeff 2009", true, never, build, cost};

}  // namespace beeline::coll::plan
