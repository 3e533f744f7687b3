// SPDX-License-Identifier: BSD-3-Clause
// The edges of a communicator with a topology, in the order MPI gives them.
#include "plugin/coll/schedules.hpp"

namespace beeline::plugin::coll {
namespace {

using beeline::coll::plan::Collective;
using beeline::coll::plan::Edge;

/// One side of the edges.
struct Side {
    std::vector<Edge>& edges;
    std::vector<int>& blocks;
    int next = 0;  ///< the caller's block of the next neighbour

    void add(int peer, int channel) {
        if (peer != MPI_PROC_NULL) {
            edges.push_back({peer, channel});
            blocks.push_back(next);
        }
        ++next;
    }
};

/// In each dimension the neighbour in negative direction comes first. What goes in positive
/// direction arrives from the negative one, also where both are the same rank, as they are in a
/// periodic dimension of one or two.
bool add_grid(ompi_communicator_t* comm, Side& from, Side& to) {
    const int dimensions = comm->c_topo->mtc.cart->ndims;
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int below = MPI_PROC_NULL;
        int above = MPI_PROC_NULL;
        if (comm->c_topo->topo.cart.cart_shift(comm, dimension, 1, &below, &above) !=
            OMPI_SUCCESS) {
            return false;
        }
        const int down = 2 * dimension;
        const int up = down + 1;
        from.add(below, up);
        from.add(above, down);
        to.add(below, down);
        to.add(above, up);
    }
    return true;
}

bool add_graph(ompi_communicator_t* comm, Side& from, Side& to) {
    const int rank = ompi_comm_rank(comm);
    int number = 0;
    if (comm->c_topo->topo.graph.graph_neighbors_count(comm, rank, &number) != OMPI_SUCCESS) {
        return false;
    }
    std::vector<int> peers(static_cast<std::size_t>(number) + 1);
    if (comm->c_topo->topo.graph.graph_neighbors(comm, rank, number, peers.data()) !=
        OMPI_SUCCESS) {
        return false;
    }
    for (int index = 0; index < number; ++index) {
        from.add(peers[static_cast<std::size_t>(index)], 0);
        to.add(peers[static_cast<std::size_t>(index)], 0);
    }
    return true;
}

bool add_distributed(ompi_communicator_t* comm, Side& from, Side& to) {
    const auto* graph = comm->c_topo->mtc.dist_graph;
    for (int index = 0; index < graph->indegree; ++index) {
        from.add(graph->in[index], 0);
    }
    for (int index = 0; index < graph->outdegree; ++index) {
        to.add(graph->out[index], 0);
    }
    return true;
}

/// False for edges that no program may have made, as one from a rank to itself with one end only.
bool plausible(ompi_communicator_t* comm, const Schedules::Neighbors& neighbors) {
    beeline::coll::plan::Request request;
    request.collective = Collective::kNeighborAlltoall;
    request.size = ompi_comm_size(comm);
    request.rank = ompi_comm_rank(comm);
    request.sources = neighbors.sources;
    request.targets = neighbors.targets;
    const auto* algorithm = beeline::coll::plan::find(request.collective, "direct");
    return algorithm != nullptr && beeline::coll::plan::refuses(*algorithm, request) == nullptr;
}

}  // namespace

bool Schedules::neighbors_known(ompi_communicator_t* comm) {
    if (neighbors_known_ || comm->c_topo == nullptr) {
        return neighbors_known_;
    }
    Neighbors found;
    Side from{found.sources, found.source_blocks};
    Side to{found.targets, found.target_blocks};
    if (OMPI_COMM_IS_CART(comm)) {
        neighbors_known_ = add_grid(comm, from, to);
    } else if (OMPI_COMM_IS_GRAPH(comm)) {
        neighbors_known_ = add_graph(comm, from, to);
    } else if (OMPI_COMM_IS_DIST_GRAPH(comm)) {
        neighbors_known_ = add_distributed(comm, from, to);
    }
    neighbors_known_ = neighbors_known_ && plausible(comm, found);
    if (neighbors_known_) {
        neighbors_ = std::move(found);
    }
    return neighbors_known_;
}

}  // namespace beeline::plugin::coll
