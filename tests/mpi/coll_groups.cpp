// SPDX-License-Identifier: BSD-3-Clause
// Communicators with and without a topology, and who is whose neighbour in them.
#include "tests/mpi/coll_groups.hpp"

namespace beeline::test {
namespace {

/// A grid: what a neighbour sends towards this rank arrives in the block of the direction it comes
/// from, also where both neighbours of a dimension are one rank, or this rank itself.
Group grid(std::vector<int> sizes, bool periodic) {
    Group group;
    group.name = periodic ? "a torus" : "a grid";
    group.plain_order = !periodic;
    const std::vector<int> periods(sizes.size(), periodic ? 1 : 0);
    const int dimensions = static_cast<int>(sizes.size());
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes.data(), periods.data(), 0, &group.comm);
    for (const int size : sizes) {
        group.name += " " + std::to_string(size);
    }
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int below = MPI_PROC_NULL;
        int above = MPI_PROC_NULL;
        MPI_Cart_shift(group.comm, dimension, 1, &below, &above);
        for (const int peer : {below, above}) {
            group.sources.push_back(peer);
            group.targets.push_back(peer);
        }
        group.partners.push_back(2 * dimension + 1);
        group.partners.push_back(2 * dimension);
    }
    return group;
}

/// Repeated edges, an edge to oneself and one in the other direction; the n-th of the same two
/// ranks belong together, which here is: block k to block k.
Group multigraph(int rank, int size) {
    Group group;
    group.name = "a multigraph";
    group.plain_order = false;
    const int next = (rank + 1) % size;
    const int previous = (rank + size - 1) % size;
    group.targets = {next, next, rank, previous};
    group.sources = {previous, previous, rank, next};
    group.partners = {0, 1, 2, 3};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, group.sources.data(), MPI_UNWEIGHTED, 4,
                                   group.targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &group.comm);
    return group;
}

/// Everybody sends to rank 0, which sends to nobody.
Group star(int rank, int size) {
    Group group;
    group.name = "a star";
    for (int source = 1; rank == 0 && source < size; ++source) {
        group.sources.push_back(source);
        group.partners.push_back(0);
    }
    if (rank != 0) {
        group.targets.push_back(0);
    }
    const int in = static_cast<int>(group.sources.size());
    const int out = static_cast<int>(group.targets.size());
    group.sources.reserve(1);
    group.targets.reserve(1);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, group.sources.data(), MPI_UNWEIGHTED, out,
                                   group.targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &group.comm);
    return group;
}

/// A graph as MPI-1 had it: the neighbours are both sources and targets.
Group ring_graph(int rank, int size) {
    Group group;
    group.name = "a graph";
    group.plain_order = size > 2;
    std::vector<int> index;
    std::vector<int> edges;
    for (int other = 0; other < size; ++other) {
        edges.push_back((other + 1) % size);
        edges.push_back((other + size - 1) % size);
        index.push_back(static_cast<int>(edges.size()));
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &group.comm);
    group.sources = group.targets = {(rank + 1) % size, (rank + size - 1) % size};
    // On one rank or two both edges lead to the same rank, and are met in their order.
    group.partners = size > 2 ? std::vector<int>{1, 0} : std::vector<int>{0, 1};
    return group;
}

Group part(const char* name, int color, int key) {
    Group group;
    group.name = name;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &group.comm);
    return group;
}

}  // namespace

std::vector<Group> plain_groups(int rank, int size) {
    std::vector<Group> groups;
    groups.push_back({"the world", MPI_COMM_WORLD, {}, {}, {}, true});
    groups.push_back(part("the reversed world", 0, size - rank));
    groups.push_back(part("halves", rank % 2, rank));
    groups.push_back(part("all but the last", rank + 1 < size ? 0 : 1, rank));
    groups.push_back(part("the copy", 0, rank));
    return groups;
}

std::vector<Group> neighborhoods(int rank, int size) {
    std::vector<Group> groups;
    groups.push_back(grid({size}, false));
    groups.push_back(size % 2 == 0 ? grid({size / 2, 2}, true) : grid({size, 1}, true));
    groups.push_back(grid({1, size}, true));
    groups.push_back(multigraph(rank, size));
    groups.push_back(star(rank, size));
    groups.push_back(ring_graph(rank, size));
    return groups;
}

void release(std::vector<Group>& groups) {
    for (Group& group : groups) {
        if (group.comm != MPI_COMM_WORLD && group.comm != MPI_COMM_NULL) {
            MPI_Comm_free(&group.comm);
        }
    }
}

}  // namespace beeline::test
