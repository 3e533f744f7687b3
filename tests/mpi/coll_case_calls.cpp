// SPDX-License-Identifier: BSD-3-Clause
// The MPI call of a case, in its three forms.
#include "tests/mpi/coll_case.hpp"

namespace beeline::test {

int Running::begin() {
    for (Side* side : {&send_, &receive_}) {
        side->buffer->write(0, side->initial.data(), side->initial.size());
    }
    if (begun_ && facts_.form == Form::kPersistent) {
        return MPI_Start(&request_);
    }
    begun_ = true;
    int outcome = MPI_SUCCESS;
    if (facts_.call == Call::kBarrier || facts_.call == Call::kBcast || reduces(facts_.call)) {
        outcome = start_vectors();
    } else {
        outcome = on_neighbors(facts_.call) ? start_neighbors() : start_blocks();
    }
    if (outcome == MPI_SUCCESS && facts_.form == Form::kPersistent) {
        outcome = MPI_Start(&request_);
    }
    return outcome;
}

// The call in its form; a blocking one leaves the request null.
#define BEELINE_CALL(Name, name, ...)                         \
    (facts_.form == Form::kBlocking ? MPI_##Name(__VA_ARGS__) \
     : facts_.form == Form::kNonblocking                      \
         ? MPI_I##name(__VA_ARGS__, &request_)                \
         : MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_))

int Running::start_vectors() {
    MPI_Comm comm = group_.comm;
    const bool here = facts_.call != Call::kReduce || rank_ == facts_.root;
    void* s = facts_.in_place && here ? MPI_IN_PLACE : send_.address();
    void* r = receive_.address();
    const MPI_Datatype t = receive_.type;
    const int n = facts_.count;
    switch (facts_.call) {
        case Call::kBcast:
            return BEELINE_CALL(Bcast, bcast, r, n, t, facts_.root, comm);
        case Call::kAllreduce:
            return BEELINE_CALL(Allreduce, allreduce, s, r, n, t, element_.op, comm);
        case Call::kReduce:
            r = here ? r : nullptr;
            return BEELINE_CALL(Reduce, reduce, s, r, n, t, element_.op, facts_.root, comm);
        case Call::kReduceScatter: {
            // Persistent and non-blocking calls read the list until they are complete.
            receive_.offsets.clear();
            for (int rank = 0; rank < size_; ++rank) {
                receive_.offsets.push_back(length_of(rank));
            }
            const int* counts = receive_.offsets.data();
            return BEELINE_CALL(Reduce_scatter, reduce_scatter, s, r, counts, t, element_.op, comm);
        }
        case Call::kReduceScatterBlock:
            return BEELINE_CALL(Reduce_scatter_block, reduce_scatter_block, s, r, n, t, element_.op,
                                comm);
        case Call::kScan:
            return BEELINE_CALL(Scan, scan, s, r, n, t, element_.op, comm);
        case Call::kExscan:
            r = rank_ == 0 && !facts_.in_place ? nullptr : r;  // not significant
            return BEELINE_CALL(Exscan, exscan, s, r, n, t, element_.op, comm);
        default:
            return BEELINE_CALL(Barrier, barrier, comm);
    }
}

int Running::start_blocks() {
    MPI_Comm comm = group_.comm;
    const int root = facts_.root;
    const bool here = rank_ == root;
    const bool scatters = facts_.call == Call::kScatter || facts_.call == Call::kScatterv;
    const bool gathers = facts_.call == Call::kGather || facts_.call == Call::kGatherv;
    const bool sends_in_place = facts_.in_place && !scatters && (!gathers || here);
    // What MPI says is not significant is nonsense.
    const bool sends = !sends_in_place && (!scatters || here);
    const bool receives = !gathers || here;
    const bool receives_in_place = facts_.in_place && scatters && here;
    void* s = sends_in_place ? MPI_IN_PLACE : sends ? send_.address() : nullptr;
    void* r = receives_in_place ? MPI_IN_PLACE : receives ? receive_.address() : nullptr;
    const MPI_Datatype st = sends ? send_.type : MPI_DATATYPE_NULL;
    const MPI_Datatype rt = receives && !receives_in_place ? receive_.type : MPI_DATATYPE_NULL;
    const int* sc = sends ? send_.counts.data() : nullptr;
    const int* sd = sends ? send_.places.data() : nullptr;
    const int* rc = receives ? receive_.counts.data() : nullptr;
    const int* rd = receives ? receive_.places.data() : nullptr;
    const int n = facts_.count;
    const int sn = sends ? n : -3;
    const int rn = receives && !receives_in_place ? n : -3;
    const int own = length_of(rank_);
    switch (facts_.call) {
        case Call::kAllgather:
            return BEELINE_CALL(Allgather, allgather, s, sn, st, r, rn, rt, comm);
        case Call::kAllgatherv:
            return BEELINE_CALL(Allgatherv, allgatherv, s, sends ? own : -3, st, r, rc, rd, rt,
                                comm);
        case Call::kGather:
            return BEELINE_CALL(Gather, gather, s, sn, st, r, rn, rt, root, comm);
        case Call::kGatherv:
            return BEELINE_CALL(Gatherv, gatherv, s, sends ? own : -3, st, r, rc, rd, rt, root,
                                comm);
        case Call::kScatter:
            return BEELINE_CALL(Scatter, scatter, s, sn, st, r, rn, rt, root, comm);
        case Call::kScatterv:
            return BEELINE_CALL(Scatterv, scatterv, s, sc, sd, st, r, receives_in_place ? -3 : own,
                                rt, root, comm);
        case Call::kAlltoall:
            return BEELINE_CALL(Alltoall, alltoall, s, sn, st, r, rn, rt, comm);
        case Call::kAlltoallv:
            return BEELINE_CALL(Alltoallv, alltoallv, s, sc, sd, st, r, rc, rd, rt, comm);
        default:
            return BEELINE_CALL(Alltoallw, alltoallw, s, sc, sends ? send_.offsets.data() : nullptr,
                                sends ? send_.types.data() : nullptr, r, rc,
                                receive_.offsets.data(), receive_.types.data(), comm);
    }
}

int Running::start_neighbors() {
    MPI_Comm comm = group_.comm;
    void* s = send_.address();
    void* r = receive_.address();
    const MPI_Datatype st = send_.type;
    const MPI_Datatype rt = receive_.type;
    const int* sc = send_.counts.data();
    const int* sd = send_.places.data();
    const int* rc = receive_.counts.data();
    const int* rd = receive_.places.data();
    const int n = facts_.count;
    switch (facts_.call) {
        case Call::kNeighborAllgather:
            return BEELINE_CALL(Neighbor_allgather, neighbor_allgather, s, n, st, r, n, rt, comm);
        case Call::kNeighborAllgatherv:
            return BEELINE_CALL(Neighbor_allgatherv, neighbor_allgatherv, s, length_of(rank_), st,
                                r, rc, rd, rt, comm);
        case Call::kNeighborAlltoall:
            return BEELINE_CALL(Neighbor_alltoall, neighbor_alltoall, s, n, st, r, n, rt, comm);
        case Call::kNeighborAlltoallv:
            return BEELINE_CALL(Neighbor_alltoallv, neighbor_alltoallv, s, sc, sd, st, r, rc, rd,
                                rt, comm);
        default:
            return BEELINE_CALL(Neighbor_alltoallw, neighbor_alltoallw, s, sc,
                                send_.far_offsets.data(), send_.types.data(), r, rc,
                                receive_.far_offsets.data(), receive_.types.data(), comm);
    }
}

}  // namespace beeline::test
