// SPDX-License-Identifier: BSD-3-Clause
// The communicators that collectives are tested on.
#pragma once

#include "tests/mpi/coll_case.hpp"

namespace beeline::test {

/// Communicators that overlap, MPI_COMM_WORLD the first of them. Every rank is in each; ranks in
/// different parts of a split have different ones of the same name.
std::vector<Group> plain_groups(int rank, int size);

/// Grids with and without periods, dimensions of one, two and more, graphs with repeated edges,
/// edges to oneself, and ranks without neighbours.
std::vector<Group> neighborhoods(int rank, int size);

void release(std::vector<Group>& groups);

}  // namespace beeline::test
