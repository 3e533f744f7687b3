// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on two binary trees, each for half of the vector. Source: P. Sanders, J. Speck, J. L.
// Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35 (2009).
//
// Slices go up the trees and down again one after another. With tree height h and s slices of a
// half: 2(h + s - 1) steps, about 2n bytes a rank, reduces about n. The in-order trees keep the
// rank order when the size is even. Scratch: for each child two slices.
#include "coll/pattern/binomial.hpp"
#include "coll/pattern/double_tree.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

class DoubleTree {
 public:
    explicit DoubleTree(const Request& request)
        : emit_(request, "double_tree", 2, request.slices), rank_(request.rank) {
        emit_.schedule().ordered = request.size % 2 == 0;
        for (int tree : {0, 1}) {
            nodes_[tree] = pattern::double_tree(request.size, rank_, tree);
        }
    }

    Schedule build(int height) {
        const int slices = static_cast<int>(emit_.slices());
        both([&](int tree) { receive_from_children(tree, 0); });
        // A slice comes down while slices behind it still go up.
        for (int slice = 0; slice < slices + height; ++slice) {
            both([&](int tree) {
                if (slice + 1 < slices) {
                    receive_from_children(tree, slice + 1);
                }
                if (slice < slices) {
                    up(tree, slice);
                }
                if (slice >= height) {
                    down(tree, slice - height);
                }
            });
        }
        return emit_.take();
    }

 private:
    template <class Body>
    void both(Body&& body) {
        body(0);
        body(1);
    }

    std::uint32_t chunk(int tree, int slice) const noexcept {
        return index(tree) * emit_.slices() + index(slice);
    }

    Place landing(int tree, int child, int slice) {
        return emit_.slot(index((tree * 2 + child) * 2 + slice % 2), chunk(tree, slice));
    }

    void receive_from_children(int tree, int slice) {
        for (const int child : {0, 1}) {
            if (nodes_[tree].children[child] >= 0) {
                emit_.receive(nodes_[tree].children[child], landing(tree, child, slice), 1, tree);
            }
        }
    }

    void up(int tree, int slice) {
        const std::uint32_t at = chunk(tree, slice);
        Place held = emit_.own(at);
        for (const int child : {0, 1}) {
            const int peer = nodes_[tree].children[child];
            if (peer >= 0) {
                const Place theirs = landing(tree, child, slice);
                emit_.reduce(emit_.output(at), peer < rank_ ? theirs : held,
                             peer < rank_ ? held : theirs);
                held = emit_.output(at);
            }
        }
        if (nodes_[tree].parent >= 0) {
            emit_.send(nodes_[tree].parent, held, 1, tree);
        }
    }

    void down(int tree, int slice) {
        const Place place = emit_.output(chunk(tree, slice));
        if (nodes_[tree].parent >= 0) {
            emit_.receive(nodes_[tree].parent, place, 1, tree);
        }
        for (const int child : nodes_[tree].children) {
            if (child >= 0) {
                emit_.send(child, place, 1, tree);
            }
        }
    }

    Emitter emit_;
    int rank_;
    pattern::TreeNode nodes_[2];
};

Schedule build(const Request& request) {
    if (request.size > 1) {
        return DoubleTree(request).build(pattern::log2_up(request.size));
    }
    Emitter emit(request, "double_tree");
    emit.schedule().ordered = false;
    emit.copy(emit.output(), emit.own());
    return emit.take();
}

const char* refuses(const Request& request) noexcept {
    return request.commutative || request.size % 2 == 0
               ? nullptr
               : "with an odd number of ranks it does not keep their order";
}

Cost cost(const Request& request, double bytes) noexcept {
    const double slices = request.slices;
    const double hops = request.size > 1 ? pattern::log2_up(request.size) + slices - 1 : 0;
    return {2 * hops, 2 * hops * bytes / slices, hops * bytes / slices, 0, 0};
}

}  // namespace

constinit const Algorithm kAllreduceDoubleTree = {Collective::kAllreduce,
                                                  "double_tree",
                                                  "Sanders, Speck and Traeff 2009",
                                                  true,
                                                  refuses,
                                                  build,
                                                  cost};

}  // namespace beeline::coll::plan
