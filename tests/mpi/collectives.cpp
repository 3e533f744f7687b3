// SPDX-License-Identifier: BSD-3-Clause
// Every collective on device buffers: placements x forms x datatypes x counts, on intra-, inter-
// and topology communicators, compared with the same call on host memory.
#include "tests/mpi/collectives.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using beeline::test::Differential;
using beeline::test::Form;
using beeline::test::Types;

/// A fact known without a reference run, so that the reference itself is not trusted blindly.
void known_sum(beeline::gpu::Gpu& gpu, Differential& test, int rank, int size) {
    constexpr std::size_t kCount = 1000;
    std::vector<int> values(kCount, rank + 1);
    const beeline::gpu::Buffer buffer(&gpu, beeline::gpu::Kind::kDevice, kCount * sizeof(int));
    gpu.write(buffer.at(), values.data(), buffer.size());
    MPI_Allreduce(MPI_IN_PLACE, buffer.at(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gpu.read(values.data(), buffer.at(), buffer.size());
    for (const int value : values) {
        if (value != size * (size + 1) / 2) {
            test.fail("allreduce: the sum of 1 to " + std::to_string(size) + " came out as " +
                      std::to_string(value));
            break;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    // Before MPI_Init, as programs that are linked to CUDA have it: the driver is there then.
    const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    std::string why;
    const auto gpu = beeline::gpu::Gpu::open(local != nullptr ? std::atoi(local) : 0, why);
    if (!gpu) {
        std::fprintf(stderr, "no GPU: %s\n", why.c_str());
        return 77;
    }
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Differential test(*gpu, rank);
    Types types;
    known_sum(*gpu, test, rank, size);
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
