// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on nodes: reduce-scatter inside nodes, allreduce of each shard between nodes,
// allgather inside nodes. The scheme of rails: as many shards as the smallest node has ranks, so
// that each rank that owns one has a link of its own between nodes. Source: M. Cho, U. Finkler, D.
// Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
// hierarchy", MLSys 2019.
//
// N nodes, g ranks in the largest and r in the smallest: inside nodes 2 steps and
// ((r-1) + (g-1))/r n bytes; between nodes 2 ceil(log2 N) steps and 2(N-1)/N n/r bytes. Ranks of
// larger nodes that own no shard contribute and get the result. Slices overlap the three stages:
// while one is between nodes, the next is reduced and the one before is spread. Not ordered.
// Scratch: three vectors.
#include <algorithm>
#include <vector>

#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

/// Where ranks are.
struct Nodes {
    std::vector<std::vector<int>> members;  ///< by node, ascending
    int node = 0;                           ///< of this rank
    int local = 0;                          ///< of this rank, in its node
    int rails = 0;                          ///< ranks of the smallest node
    int largest = 0;                        ///< ranks of the largest node
};

Nodes nodes_of(const Request& request) {
    Nodes nodes;
    for (int rank = 0; rank < request.size; ++rank) {
        const auto node = static_cast<std::size_t>(
            request.node_of.empty() ? 0 : request.node_of[static_cast<std::size_t>(rank)]);
        if (nodes.members.size() <= node) {
            nodes.members.resize(node + 1);
        }
        if (rank == request.rank) {
            nodes.node = static_cast<int>(node);
            nodes.local = static_cast<int>(nodes.members[node].size());
        }
        nodes.members[node].push_back(rank);
    }
    nodes.rails = request.size;
    for (const std::vector<int>& members : nodes.members) {
        nodes.rails = std::min(nodes.rails, static_cast<int>(members.size()));
        nodes.largest = std::max(nodes.largest, static_cast<int>(members.size()));
    }
    return nodes;
}

class Hierarchical {
 public:
    Hierarchical(const Request& request, const Nodes& nodes)
        : nodes_(nodes),
          number_(static_cast<int>(nodes.members.size())),
          members_(nodes.members[static_cast<std::size_t>(nodes.node)]),
          slices_(request.slices),
          emit_(request, "hierarchical", slices_ * nodes.rails * number_) {}

    Schedule build() {
        for (int stage = 0; stage < slices_ + 2; ++stage) {
            if (stage < slices_) {
                emit_.phase("reduce inside nodes");
                gather_contributions(stage);
            }
            if (stage >= 1 && stage - 1 < slices_ && owns_rail()) {
                emit_.phase("between nodes");
                across(stage - 1);
            }
            if (stage >= 2) {
                emit_.phase("spread inside nodes");
                spread(stage - 2);
            }
        }
        return emit_.take();
    }

 private:
    bool owns_rail() const noexcept { return nodes_.local < nodes_.rails; }

    /// The first chunk of a rail's part of a slice; it has a chunk for each node.
    std::uint32_t shard(int slice, int rail) const noexcept {
        return index((slice * nodes_.rails + rail) * number_);
    }

    int member(int local) const { return members_[static_cast<std::size_t>(local)]; }
    int locals() const noexcept { return static_cast<int>(members_.size()); }

    void gather_contributions(int slice) {
        for (int distance = 1; distance < locals(); ++distance) {
            const int rail = (nodes_.local + distance) % locals();
            if (rail < nodes_.rails) {
                emit_.send(member(rail), emit_.own(shard(slice, rail)), index(number_));
            }
        }
        if (!owns_rail()) {
            return;
        }
        const std::uint32_t mine = shard(slice, nodes_.local);
        const auto landing = [&](int distance) { return emit_.mirror(index(distance % 2), mine); };
        const auto receive = [&](int distance) {
            if (distance < locals()) {
                emit_.receive(member((nodes_.local - distance + locals()) % locals()),
                              landing(distance), index(number_));
            }
        };
        receive(1);
        Place held = emit_.own(mine);
        for (int distance = 1; distance < locals(); ++distance) {
            receive(distance + 1);
            emit_.reduce(emit_.output(mine), held, landing(distance), index(number_));
            held = emit_.output(mine);
        }
        emit_.copy(emit_.output(mine), held, index(number_));
    }

    void across(int slice) {
        if (number_ == 1) {
            return;
        }
        const std::uint32_t mine = shard(slice, nodes_.local);
        const auto owner = [&](int node) {
            return nodes_
                .members[static_cast<std::size_t>(node)][static_cast<std::size_t>(nodes_.local)];
        };
        const Place sums = emit_.output(mine);
        bruck_reduce_scatter(emit_, number_, nodes_.node, sums, sums, emit_.mirror(2, mine),
                             sums + index(nodes_.node), owner);
        bruck_allgather(emit_, number_, nodes_.node, sums, owner);
    }

    void spread(int slice) {
        for (int distance = 1; distance < locals(); ++distance) {
            const int rail = (nodes_.local - distance + locals()) % locals();
            if (rail < nodes_.rails) {
                emit_.receive(member(rail), emit_.output(shard(slice, rail)), index(number_));
            }
        }
        for (int distance = 1; owns_rail() && distance < locals(); ++distance) {
            emit_.send(member((nodes_.local + distance) % locals()),
                       emit_.output(shard(slice, nodes_.local)), index(number_));
        }
    }

    const Nodes& nodes_;
    int number_;
    const std::vector<int>& members_;
    int slices_;
    Emitter emit_;
};

Schedule build(const Request& request) {
    const Nodes nodes = nodes_of(request);
    return Hierarchical(request, nodes).build();
}

const char* refuses(const Request& request) noexcept {
    if (request.node_of.empty()) {
        return "all ranks are on one node";
    }
    const auto size = static_cast<int>(request.node_of.size());
    int nodes = 0;  // they are numbered by their lowest ranks
    for (const int node : request.node_of) {
        if (node < 0 || node > nodes || nodes > size) {
            return "nodes are not numbered in the order of their lowest ranks";
        }
        nodes += node == nodes ? 1 : 0;
    }
    return if_not_commutative(request);
}

Cost cost(const Request& request, double bytes) noexcept {
    int number = 1;
    for (const int node : request.node_of) {
        number = std::max(number, node + 1);
    }
    int smallest = request.size;
    int largest = 1;
    for (int node = 0; node < number; ++node) {
        const auto members =
            static_cast<int>(std::count(request.node_of.begin(), request.node_of.end(), node));
        smallest = std::min(smallest, members);
        largest = std::max(largest, members);
    }
    const double rail = bytes / smallest;
    const double share = (number - 1.0) / number * rail;
    Cost cost;
    cost.steps = largest > 1 ? 2 : 0;
    cost.bytes = (smallest - 1 + largest - 1) * rail;
    cost.reduced = (largest - 1) * rail + share;
    cost.across_steps = 2.0 * pattern::log2_up(number);
    cost.across_bytes = 2 * share;
    return cost;
}

}  // namespace

constinit const Algorithm kAllreduceHierarchical = {
    Collective::kAllreduce, "hierarchical", "Cho et al. 2019", true, refuses, build, cost};

}  // namespace beeline::coll::plan
