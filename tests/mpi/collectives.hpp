// SPDX-License-Identifier: BSD-3-Clause
// The groups of collectives under test, and the datatypes they are tested with.
#pragma once

#include "tests/mpi/differential.hpp"

namespace beeline::test {

struct TypeCase {
    const char* name;
    MPI_Datatype type;
    MPI_Op op;           ///< MPI_OP_NULL: not reduced
    std::size_t extent;  ///< bytes from one element to the next
};

/// Plain types, a structure with gaps and an operation of the user's own, and one whose data starts
/// before its address.
class Types {
 public:
    Types();
    void release();
    const std::vector<TypeCase>& all() const { return cases_; }

 private:
    std::vector<TypeCase> cases_;
};

/// Bcast, (all)gather(v), scatter(v), alltoall(v, w) and barrier.
void data_calls(Differential& test, MPI_Comm comm, Form form, const TypeCase& type, int count);

/// What takes MPI_IN_PLACE, with arguments that do not count set to nonsense.
void in_place_calls(Differential& test, MPI_Comm comm, Form form, const TypeCase& type, int count);

/// Reduce, allreduce, reduce_scatter(_block), scan, exscan and reduce_local.
void reductions(Differential& test, MPI_Comm comm, Form form, const TypeCase& type, int count);

/// The neighbourhood calls on a line, a ring and a graph of uneven degrees.
void neighbors(Differential& test, Form form, const TypeCase& type, int count);

/// Between the even and the odd ranks of MPI_COMM_WORLD.
void inter_calls(Differential& test, Form form, const TypeCase& type, int count);

}  // namespace beeline::test
