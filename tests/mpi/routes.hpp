// SPDX-License-Identifier: BSD-3-Clause
// Every sort of communicator that leads from a rank to its partner, for tests that are the same on
// each.
#pragma once

#include <mpi.h>

#include <vector>

namespace beeline::test {

/// A communicator and what the partner is called in it.
struct Route {
    const char* name;
    MPI_Comm comm;
    int peer;
};

/// The communicators of a job: the world, its duplicate, the same ranks in reverse, even and odd
/// ranks apart, and an inter-communicator between these two.
class Routes {
 public:
    Routes() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy_);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &reversed_);
        MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half_);
        if (ranks_ > 1) {
            MPI_Intercomm_create(half_, 0, MPI_COMM_WORLD, 1 - rank_ % 2, 12, &bridge_);
        }
    }
    ~Routes() {
        if (ranks_ > 1) {
            MPI_Comm_free(&bridge_);
        }
        MPI_Comm_free(&half_);
        MPI_Comm_free(&reversed_);
        MPI_Comm_free(&copy_);
    }
    Routes(const Routes&) = delete;
    Routes& operator=(const Routes&) = delete;

    /// Those that lead to `partner`, a rank of the world; the same on both sides.
    std::vector<Route> to(int partner) const {
        std::vector<Route> all = {{"world", MPI_COMM_WORLD, partner},
                                  {"dup", copy_, partner},
                                  {"reversed", reversed_, ranks_ - 1 - partner}};
        if (partner % 2 == rank_ % 2) {
            all.push_back({"split", half_, partner / 2});
        } else {
            all.push_back({"inter-communicator", bridge_, partner / 2});
        }
        return all;
    }
    void set_error_handler(MPI_Errhandler handler) const {
        for (const MPI_Comm comm : {MPI_COMM_WORLD, copy_, reversed_, half_, bridge_}) {
            if (comm != MPI_COMM_NULL) {
                MPI_Comm_set_errhandler(comm, handler);
            }
        }
    }

 private:
    int rank_ = 0;
    int ranks_ = 0;
    MPI_Comm copy_ = MPI_COMM_NULL;
    MPI_Comm reversed_ = MPI_COMM_NULL;
    MPI_Comm half_ = MPI_COMM_NULL;
    MPI_Comm bridge_ = MPI_COMM_NULL;
};

/// Calls `body(partner)` for partners that cover the job: in each round a rank has at most one.
template <class Body>
void with_partners(int rank, int ranks, Body&& body) {
    for (int bit = 1; bit < ranks; bit *= 2) {
        if ((rank ^ bit) < ranks) {
            body(rank ^ bit);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

}  // namespace beeline::test
