// SPDX-License-Identifier: BSD-3-Clause
// Every collective on device buffers: placements x forms x datatypes x counts, on intra-, inter-
// and topology communicators, compared with the same call on host memory.
#include "tests/mpi/collectives.hpp"

namespace {

using beeline::test::Device;
using beeline::test::Differential;
using beeline::test::Form;
using beeline::test::Types;

/// Facts known without a reference run, so that the reference itself is not trusted blindly.
void known_answers(Device& device, Differential& test, int rank, int size) {
    std::vector<int> mine(1000, rank + 1);
    std::vector<int> sum(1000, -1);
    void* memory = device.allocate(4000);
    device.copy(memory, mine.data(), 4000);
    MPI_Allreduce(MPI_IN_PLACE, memory, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    device.copy(sum.data(), memory, 4000);
    for (const int value : sum) {
        if (value != size * (size + 1) / 2) {
            test.fail("known sum");
            break;
        }
    }
    MPI_Request requests[4];
    for (MPI_Request& request : requests) {
        MPI_Ibcast(memory, 250, MPI_INT, 0, MPI_COMM_SELF, &request);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    device.release(memory);
}

}  // namespace

int main(int argc, char** argv) {
    Device device;
    const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    device.open(local != nullptr ? std::atoi(local) : 0);
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Differential test(device, rank);
    Types types;
    known_answers(device, test, rank, size);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent}) {
        for (const auto& type : types.all()) {
            for (const int count : {0, 1, 5, 700}) {
                beeline::test::data_calls(test, MPI_COMM_WORLD, form, type, count);
                beeline::test::in_place_calls(test, copy, form, type, count);
                beeline::test::reductions(test, MPI_COMM_WORLD, form, type, count);
            }
            beeline::test::data_calls(test, MPI_COMM_SELF, form, type, 3);
            beeline::test::in_place_calls(test, MPI_COMM_SELF, form, type, 3);
            beeline::test::reductions(test, MPI_COMM_SELF, form, type, 3);
            beeline::test::neighbors(test, form, type, 6);
            beeline::test::inter_calls(test, form, type, 6);
        }
    }
    MPI_Comm_free(&copy);
    int failures = test.failures();
    int checks = test.checks();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &checks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("collectives on %d ranks: %d comparisons, %d failed\n", size, checks, failures);
    }
    types.release();
    MPI_Finalize();
    return failures == 0 && checks > 0 ? 0 : 1;
}
