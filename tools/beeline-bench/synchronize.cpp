// SPDX-License-Identifier: BSD-3-Clause
// The barrier of the tests.
#include "workload.hpp"

namespace beeline::bench {
namespace {

constexpr int kAckTag = 2;

}  // namespace

void synchronize(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    // Dissemination: after step k each rank has heard, directly or not, from 2^(k+1) ranks.
    for (int distance = 1; distance < size; distance *= 2) {
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, (rank + distance) % size, kAckTag, nullptr, 0, MPI_BYTE,
                     (rank - distance + size) % size, kAckTag, comm, MPI_STATUS_IGNORE);
    }
}

}  // namespace beeline::bench
