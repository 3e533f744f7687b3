// SPDX-License-Identifier: BSD-3-Clause
// The collectives of intra-communicators.
#include <numeric>

#include "tests/mpi/collectives.hpp"

namespace beeline::test {
namespace {

/// The user's own operation on the structure; it reads and writes its arguments as plain memory.
struct Gapped {
    char small;
    double large;
};

void combine(void* in, void* inout, int* count, MPI_Datatype*) {
    const auto* from = static_cast<const char*>(in);
    auto* to = static_cast<char*>(inout);
    for (int i = 0; i < *count; ++i) {
        Gapped a;
        Gapped b;
        std::memcpy(&a, from + i * 24, sizeof a);
        std::memcpy(&b, to + i * 24, sizeof b);
        to[i * 24] = static_cast<char>(a.small ^ b.small);
        const double larger = a.large > b.large ? a.large : b.large;
        std::memcpy(to + i * 24 + offsetof(Gapped, large), &larger, sizeof larger);
    }
}

std::string title(const char* call, Form form, const TypeCase& type, int count, MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return std::string(call) + " " + kFormNames[static_cast<int>(form)] + " " + type.name + " x " +
           std::to_string(count) + " on " + std::to_string(size);
}

/// Counts of 0 and more that differ by rank, at places in reverse order with gaps between.
struct Vector {
    std::vector<int> counts;
    std::vector<int> places;
    int total = 0;
    Vector(int ranks, int count) : counts(static_cast<std::size_t>(ranks)), places(counts.size()) {
        for (int i = ranks - 1; i >= 0; --i) {
            const auto at = static_cast<std::size_t>(i);
            counts[at] = count == 0 ? 0 : (i * 3 + count) % 8;
            places[at] = total;
            total += counts[at] + 1;
        }
    }
};

}  // namespace

Types::Types() {
    cases_.push_back({"int", MPI_INT, MPI_SUM, sizeof(int)});
    cases_.push_back({"double", MPI_DOUBLE, MPI_MAX, sizeof(double)});
    TypeCase gapped{"gapped", MPI_DATATYPE_NULL, MPI_OP_NULL, 24};
    const int lengths[] = {1, 1};
    const MPI_Aint offsets[] = {offsetof(Gapped, small), offsetof(Gapped, large)};
    const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype packed = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, offsets, parts, &packed);
    MPI_Type_create_resized(packed, 0, 24, &gapped.type);
    MPI_Type_commit(&gapped.type);
    MPI_Type_free(&packed);
    MPI_Op_create(combine, 1, &gapped.op);
    cases_.push_back(gapped);
    TypeCase before{"before", MPI_DATATYPE_NULL, MPI_OP_NULL, 16};
    const int blocks[] = {2, 1};
    const MPI_Aint starts[] = {0, -4};
    MPI_Type_create_hindexed(2, blocks, starts, MPI_INT, &packed);
    MPI_Type_create_resized(packed, 0, 16, &before.type);
    MPI_Type_commit(&before.type);
    MPI_Type_free(&packed);
    cases_.push_back(before);
    cases_.push_back({"float and int", MPI_FLOAT_INT, MPI_MINLOC, 8});
    cases_.push_back({"double and int", MPI_DOUBLE_INT, MPI_MAXLOC, 16});
}

void Types::release() {
    MPI_Op_free(&cases_[2].op);
    MPI_Type_free(&cases_[2].type);
    MPI_Type_free(&cases_[3].type);
}

void data_calls(Differential& test, MPI_Comm comm, Form form, const TypeCase& type, int count) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const MPI_Datatype t = type.type;
    const auto ranks = static_cast<std::size_t>(size);
    const std::size_t one = static_cast<std::size_t>(count) * type.extent;
    const int root = size - 1;
    const auto named = [&](const char* call) { return title(call, form, type, count, comm); };
    test.run(named("bcast"), 0, one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Bcast, bcast, r, count, t, root, comm);
    });
    test.run(named("allgather"), one, ranks * one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Allgather, allgather, s, count, t, r, count, t, comm);
    });
    test.run(named("gather"), one, rank == root ? ranks * one : 0, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Gather, gather, s, count, t, rank == root ? r : nullptr,
                           rank == root ? count : -5, rank == root ? t : MPI_DATATYPE_NULL, root,
                           comm);
    });
    test.run(named("scatter"), rank == root ? ranks * one : 0, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Scatter, scatter, rank == root ? s : nullptr,
                           rank == root ? count : -5, rank == root ? t : MPI_DATATYPE_NULL, r,
                           count, t, root, comm);
    });
    test.run(named("alltoall"), ranks * one, ranks * one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Alltoall, alltoall, s, count, t, r, count, t, comm);
    });
    const Vector v(size, count);
    const std::size_t whole = static_cast<std::size_t>(v.total) * type.extent;
    const int own = v.counts[static_cast<std::size_t>(rank)];
    const std::size_t own_bytes = static_cast<std::size_t>(own) * type.extent;
    test.run(named("allgatherv"), own_bytes, whole, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Allgatherv, allgatherv, s, own, t, r, v.counts.data(),
                           v.places.data(), t, comm);
    });
    test.run(named("gatherv"), own_bytes, rank == root ? whole : 0, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Gatherv, gatherv, s, own, t, rank == root ? r : nullptr,
                           rank == root ? v.counts.data() : nullptr,
                           rank == root ? v.places.data() : nullptr, t, root, comm);
    });
    test.run(named("scatterv"), rank == root ? whole : 0, own_bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Scatterv, scatterv, rank == root ? s : nullptr,
                           rank == root ? v.counts.data() : nullptr,
                           rank == root ? v.places.data() : nullptr, t, r, own, t, root, comm);
    });
    // Rank i sends c(i + j) elements to rank j, so both sides use the same list.
    std::vector<int> counts(ranks);
    std::vector<int> places(ranks);
    std::vector<int> offsets(ranks);
    int total = 0;
    for (int j = size - 1; j >= 0; --j) {
        const auto at = static_cast<std::size_t>(j);
        counts[at] = count == 0 ? 0 : (rank + j + count) % 4;
        places[at] = total;
        offsets[at] = total * static_cast<int>(type.extent);
        total += counts[at] + 1;
    }
    const std::size_t bytes = static_cast<std::size_t>(total) * type.extent;
    test.run(named("alltoallv"), bytes, bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Alltoallv, alltoallv, s, counts.data(), places.data(), t, r,
                           counts.data(), places.data(), t, comm);
    });
    const std::vector<MPI_Datatype> types(ranks, t);
    test.run(named("alltoallw"), bytes, bytes, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Alltoallw, alltoallw, s, counts.data(), offsets.data(),
                           types.data(), r, counts.data(), offsets.data(), types.data(), comm);
    });
    BEELINE_COLLECTIVE(form, Barrier, barrier, comm);
}

void in_place_calls(Differential& test, MPI_Comm comm, Form form, const TypeCase& type, int count) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const MPI_Datatype t = type.type;
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    const auto ranks = static_cast<std::size_t>(size);
    const std::size_t one = static_cast<std::size_t>(count) * type.extent;
    const int root = 0;
    const bool here = rank == root;
    const auto named = [&](const char* call) {
        return title(call, form, type, count, comm) + " in place";
    };
    test.run(named("allgather"), 0, ranks * one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Allgather, allgather, MPI_IN_PLACE, -3, none, r, count, t, comm);
    });
    test.run(named("alltoall"), 0, ranks * one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Alltoall, alltoall, MPI_IN_PLACE, -3, none, r, count, t, comm);
    });
    test.run(named("gather"), one, here ? ranks * one : 0, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Gather, gather, here ? MPI_IN_PLACE : static_cast<void*>(s), count,
                           t, r, count, t, root, comm);
    });
    test.run(named("scatter"), here ? ranks * one : 0, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Scatter, scatter, s, count, t,
                           here ? MPI_IN_PLACE : static_cast<void*>(r), count, t, root, comm);
    });
    const Vector v(size, count);
    const std::size_t whole = static_cast<std::size_t>(v.total) * type.extent;
    test.run(named("allgatherv"), 0, whole, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Allgatherv, allgatherv, MPI_IN_PLACE, -3, none, r, v.counts.data(),
                           v.places.data(), t, comm);
    });
    if (type.op == MPI_OP_NULL) {
        return;
    }
    const MPI_Op op = type.op;
    test.run(named("allreduce"), 0, one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Allreduce, allreduce, MPI_IN_PLACE, r, count, t, op, comm);
    });
    test.run(named("reduce"), one, here ? one : 0, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Reduce, reduce, here ? MPI_IN_PLACE : static_cast<void*>(s), r,
                           count, t, op, root, comm);
    });
    test.run(named("scan"), 0, one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Scan, scan, MPI_IN_PLACE, r, count, t, op, comm);
    });
    test.run(named("exscan"), 0, one, [&](char*, char* r) {
        BEELINE_COLLECTIVE(form, Exscan, exscan, MPI_IN_PLACE, r, count, t, op, comm);
    });
    // What stands in the receive buffer behind this rank's result is unspecified: not compared.
    if (size == 1) {
        const std::vector<int> counts{count};
        test.run(named("reduce_scatter"), 0, one, [&](char*, char* r) {
            BEELINE_COLLECTIVE(form, Reduce_scatter, reduce_scatter, MPI_IN_PLACE, r, counts.data(),
                               t, op, comm);
        });
    }
}

void reductions(Differential& test, MPI_Comm comm, Form form, const TypeCase& type, int count) {
    if (type.op == MPI_OP_NULL) {
        return;
    }
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const MPI_Datatype t = type.type;
    const MPI_Op op = type.op;
    const auto ranks = static_cast<std::size_t>(size);
    const std::size_t one = static_cast<std::size_t>(count) * type.extent;
    const int root = size / 2;
    const auto named = [&](const char* call) { return title(call, form, type, count, comm); };
    test.run(named("allreduce"), one, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Allreduce, allreduce, s, r, count, t, op, comm);
    });
    test.run(named("reduce"), one, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Reduce, reduce, s, rank == root ? r : nullptr, count, t, op, root,
                           comm);
    });
    test.run(named("scan"), one, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Scan, scan, s, r, count, t, op, comm);
    });
    test.run(named("exscan"), one, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Exscan, exscan, s, r, count, t, op, comm);
    });
    test.run(named("reduce_scatter_block"), ranks * one, one, [&](char* s, char* r) {
        BEELINE_COLLECTIVE(form, Reduce_scatter_block, reduce_scatter_block, s, r, count, t, op,
                           comm);
    });
    const Vector v(size, count);
    const int sum = std::accumulate(v.counts.begin(), v.counts.end(), 0);
    const auto own = static_cast<std::size_t>(v.counts[static_cast<std::size_t>(rank)]);
    test.run(named("reduce_scatter"), static_cast<std::size_t>(sum) * type.extent,
             own * type.extent, [&](char* s, char* r) {
                 BEELINE_COLLECTIVE(form, Reduce_scatter, reduce_scatter, s, r, v.counts.data(), t,
                                    op, comm);
             });
    if (form == Form::kBlocking) {
        test.run(named("reduce_local"), one, one,
                 [&](char* s, char* r) { MPI_Reduce_local(s, r, count, t, op); });
    }
}

}  // namespace beeline::test
