// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives, and collectives of inter-communicators.
#include "tests/mpi/collectives.hpp"

namespace beeline::test {
namespace {

struct Degrees {
    int in = 0;
    int out = 0;
};

/// Lists for the v and w calls: the same count everywhere, places in reverse order with gaps. Never
/// empty: Open MPI refuses a null list even where it has no entries.
struct Lists {
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<MPI_Aint> offsets;
    std::vector<MPI_Datatype> types;
    std::size_t bytes;
    Lists(int blocks, int count, const TypeCase& type)
        : counts(static_cast<std::size_t>(blocks > 0 ? blocks : 1), count),
          places(counts.size()),
          offsets(counts.size()),
          types(counts.size(), type.type),
          bytes(counts.size() * static_cast<std::size_t>(count + 2) * type.extent) {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            places[i] = static_cast<int>(counts.size() - 1 - i) * (count + 2);
            offsets[i] = static_cast<MPI_Aint>(places[i]) * static_cast<MPI_Aint>(type.extent);
        }
    }
};

void neighbors_of(Differential& test, MPI_Comm comm, Degrees degrees, const std::string& shape,
                  Form form, const TypeCase& type, int count) {
    const MPI_Datatype t = type.type;
    const std::size_t one = static_cast<std::size_t>(count) * type.extent;
    const auto in = static_cast<std::size_t>(degrees.in);
    const auto out = static_cast<std::size_t>(degrees.out);
    const Lists from(degrees.in, count, type);
    const Lists to(degrees.out, count, type);
    const auto named = [&](const char* call) {
        return std::string("neighbor_") + call + " " + kFormNames[static_cast<int>(form)] + " " +
               type.name + " on a " + shape;
    };
    test.run(named("allgather"), one, in * one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Neighbor_allgather, neighbor_allgather, s, count, t, r, count, t,
                           comm);
    });
    test.run(named("allgatherv"), one, from.bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Neighbor_allgatherv, neighbor_allgatherv, s, count, t, r,
                           from.counts.data(), from.places.data(), t, comm);
    });
    test.run(named("alltoall"), out * one, in * one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Neighbor_alltoall, neighbor_alltoall, s, count, t, r, count, t,
                           comm);
    });
    test.run(named("alltoallv"), to.bytes, from.bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Neighbor_alltoallv, neighbor_alltoallv, s, to.counts.data(),
                           to.places.data(), t, r, from.counts.data(), from.places.data(), t, comm);
    });
    test.run(named("alltoallw"), to.bytes, from.bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Neighbor_alltoallw, neighbor_alltoallw, s, to.counts.data(),
                           to.offsets.data(), to.types.data(), r, from.counts.data(),
                           from.offsets.data(), from.types.data(), comm);
    });
}

/// A rank's role in a rooted call of an inter-communicator: rank 0 of the even ranks is the root.
int inter_root(bool even, int local_rank) {
    if (!even) {
        return 0;
    }
    return local_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

void inter_rooted(Differential& test, MPI_Comm inter, bool even, int rank, std::size_t remote,
                  Form form, const TypeCase& type, int count, const std::string& suffix) {
    const MPI_Datatype t = type.type;
    const std::size_t one = static_cast<std::size_t>(count) * type.extent;
    const int root = inter_root(even, rank);
    const bool here = root == MPI_ROOT;
    test.run("bcast" + suffix, 0, one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Bcast, bcast, r, count, t, root, inter);
    });
    test.run("gather" + suffix, one, here ? remote * one : 0, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Gather, gather, s, count, t, r, count, t, root, inter);
    });
    test.run("scatter" + suffix, here ? remote * one : 0, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Scatter, scatter, s, count, t, r, count, t, root, inter);
    });
    if (type.op != MPI_OP_NULL) {
        test.run("reduce" + suffix, one, one, [&](char* s, char* r) {
            BEELINE_COLLECTIVE(form, Reduce, reduce, s, r, count, t, type.op, root, inter);
        });
    }
}

}  // namespace

void neighbors(Differential& test, Form form, const TypeCase& type, int count) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (const int periodic : {0, 1}) {
        MPI_Comm line = MPI_COMM_NULL;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
        neighbors_of(test, line, {2, 2}, periodic != 0 ? "ring" : "line", form, type, count);
        MPI_Comm_free(&line);
    }
    // Everyone sends to rank 0; rank 0 sends to nobody.
    std::vector<int> sources;
    for (int i = 1; rank == 0 && i < size; ++i) {
        sources.push_back(i);
    }
    const int sink = 0;
    const Degrees degrees{static_cast<int>(sources.size()), rank == 0 ? 0 : 1};
    MPI_Comm star = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degrees.in, sources.data(), MPI_UNWEIGHTED,
                                   degrees.out, &sink, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star);
    neighbors_of(test, star, degrees, "star", form, type, count);
    MPI_Comm_free(&star);
}

void inter_calls(Differential& test, Form form, const TypeCase& type, int count) {
    int world = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    const bool even = world % 2 == 0;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, even ? 0 : 1, world, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, even ? 1 : 0, 7, &inter);
    int rank = 0;
    int others = 0;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &others);
    const auto remote = static_cast<std::size_t>(others);
    const MPI_Datatype t = type.type;
    const std::size_t one = static_cast<std::size_t>(count) * type.extent;
    const std::string suffix =
        std::string(" between groups ") + kFormNames[static_cast<int>(form)] + " " + type.name;
    inter_rooted(test, inter, even, rank, remote, form, type, count, suffix);
    test.run("allgather" + suffix, one, remote * one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Allgather, allgather, s, count, t, r, count, t, inter);
    });
    test.run("alltoall" + suffix, remote * one, remote * one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Alltoall, alltoall, s, count, t, r, count, t, inter);
    });
    const Lists lists(others, count, type);
    test.run("allgatherv" + suffix, one, lists.bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Allgatherv, allgatherv, s, count, t, r, lists.counts.data(),
                           lists.places.data(), t, inter);
    });
    test.run("alltoallv" + suffix, lists.bytes, lists.bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Alltoallv, alltoallv, s, lists.counts.data(), lists.places.data(),
                           t, r, lists.counts.data(), lists.places.data(), t, inter);
    });
    if (type.op != MPI_OP_NULL) {
        test.run("allreduce" + suffix, one, one, [&](char* s, char* r) {
            BEELINE_COLLECTIVE(form, Allreduce, allreduce, s, r, count, t, type.op, inter);
        });
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

}  // namespace beeline::test
