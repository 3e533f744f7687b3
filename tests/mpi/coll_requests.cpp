// SPDX-License-Identifier: BSD-3-Clause
// The life of requests of collectives, and failures of one rank.
//   coll_requests SCENARIO device
// freed_communicator  the communicator is freed before its collectives are complete, or are started
// refused             one rank finds no memory for data with gaps: all ranks return, with an error
// no_wait             a request is never completed before MPI_Finalize
// bottom              one datatype relative to MPI_BOTTOM holds host and device memory
// root                a root out of range is an error, not a crash
#include <sys/resource.h>

#include <fstream>
#include <string_view>

#include "tests/mpi/harness.hpp"
#include <mpi-ext.h>

namespace beeline::test {
namespace {

constexpr int kCount = 5000;

void freed_communicator(Harness& h) {
    gpu::Buffer buffer(h.gpu.get(), gpu::Kind::kDevice, kCount * sizeof(int));
    std::vector<int> values(kCount, h.rank + 1);
    const int sum = h.ranks * (h.ranks + 1) / 2;
    for (const bool persistent : {false, true}) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Request request = MPI_REQUEST_NULL;
        buffer.write(0, values.data(), buffer.size());
        if (persistent) {
            MPIX_Allreduce_init(MPI_IN_PLACE, buffer.at(), kCount, MPI_INT, MPI_SUM, comm,
                                MPI_INFO_NULL, &request);
        } else {
            MPI_Iallreduce(MPI_IN_PLACE, buffer.at(), kCount, MPI_INT, MPI_SUM, comm, &request);
        }
        MPI_Comm_free(&comm);
        for (int round = 0; round < (persistent ? 3 : 1); ++round) {
            if (persistent) {
                buffer.write(0, values.data(), buffer.size());
                MPI_Start(&request);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            std::vector<int> seen(kCount);
            buffer.read(0, seen.data(), buffer.size());
            h.check(seen == std::vector<int>(kCount, sum), "round %d is wrong", round);
        }
        if (persistent) {
            MPI_Request_free(&request);
        }
    }
}

/// The address space that this process uses.
std::size_t address_space() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096;
}

void refused(Harness& h) {
    constexpr int kBlocks = 8 << 20;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(kBlocks, 8, 16, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    gpu::Buffer buffer(h.gpu.get(), gpu::Kind::kHost, std::size_t{kBlocks} * 16);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    // What is made at the first call is there before the limit.
    int small = h.rank;
    MPI_Bcast(&small, 1, MPI_INT, 0, comm);
    const int failing = h.ranks - 1;
    for (const int root : {failing, 0}) {
        rlimit old{};
        getrlimit(RLIMIT_AS, &old);
        if (h.rank == failing) {
            const rlimit tight{address_space() + (32U << 20), old.rlim_max};
            setrlimit(RLIMIT_AS, &tight);
        }
        const int outcome = MPI_Bcast(buffer.at(), 1, type, root, comm);
        setrlimit(RLIMIT_AS, &old);
        h.check(h.rank != failing || outcome != MPI_SUCCESS, "no error where memory was refused");
        // All get their data from the root.
        h.check(root != failing || outcome != MPI_SUCCESS, "no error without data");
        // What comes next isn't disturbed.
        int value = h.rank;
        h.check(MPI_Bcast(&value, 1, MPI_INT, 0, comm) == MPI_SUCCESS && value == 0,
                "the next call fails");
    }
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
}

/// A block on the host and one on the device, in one buffer and at one time.
void bottom(Harness& h) {
    std::vector<int> host(kCount, h.rank + 1);
    gpu::Buffer device(h.gpu.get(), gpu::Kind::kDevice, kCount * sizeof(int));
    std::vector<int> other(kCount, 100 + h.rank);
    const auto blocks = static_cast<std::size_t>(h.ranks);
    gpu::Buffer all_host(nullptr, gpu::Kind::kHost, 2 * blocks * kCount * sizeof(int));
    gpu::Buffer all_device(h.gpu.get(), gpu::Kind::kDevice, 2 * blocks * kCount * sizeof(int));
    device.write(0, other.data(), device.size());
    const int lengths[] = {kCount, kCount};
    MPI_Aint places[2] = {};
    MPI_Get_address(host.data(), &places[0]);
    MPI_Get_address(device.at(), &places[1]);
    MPI_Datatype both = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
    MPI_Type_commit(&both);
    for (gpu::Buffer* into : {&all_host, &all_device}) {
        MPI_Allgather(MPI_BOTTOM, 1, both, into->at(), 2 * kCount, MPI_INT, MPI_COMM_WORLD);
        std::vector<int> seen(2 * blocks * kCount);
        into->read(0, seen.data(), into->size());
        for (int rank = 0; rank < h.ranks; ++rank) {
            const auto at = static_cast<std::size_t>(rank) * 2 * kCount;
            h.check(seen[at] == rank + 1 && seen[at + kCount] == 100 + rank,
                    "the blocks of rank %d are wrong", rank);
        }
    }
    MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD);
    device.read(0, other.data(), device.size());
    h.check(host[kCount - 1] == 1 && other[kCount - 1] == 100, "the broadcast is wrong");
    // To each rank a block of another kind of memory; datatypes of their own say where.
    std::vector<MPI_Datatype> types(blocks, MPI_INT);
    std::vector<int> counts(blocks, 1);
    std::vector<int> zeros(blocks, 0);
    std::vector<int> ints(blocks, kCount);
    std::vector<int> offsets;
    std::vector<MPI_Datatype> plain(blocks, MPI_INT);
    for (int rank = 0; rank < h.ranks; ++rank) {
        const int index = rank % 2;
        MPI_Type_create_hindexed(1, lengths, &places[index], MPI_INT,
                                 &types[static_cast<std::size_t>(rank)]);
        MPI_Type_commit(&types[static_cast<std::size_t>(rank)]);
        offsets.push_back(rank * kCount * static_cast<int>(sizeof(int)));
    }
    MPI_Alltoallw(MPI_BOTTOM, counts.data(), zeros.data(), types.data(), all_device.at(),
                  ints.data(), offsets.data(), plain.data(), MPI_COMM_WORLD);
    std::vector<int> seen(blocks * kCount);
    all_device.read(0, seen.data(), seen.size() * sizeof(int));
    for (std::size_t rank = 0; rank < blocks; ++rank) {
        h.check(seen[rank * kCount] == (h.rank % 2 == 0 ? 1 : 100), "the block of rank %zu", rank);
    }
    for (MPI_Datatype& type : types) {
        MPI_Type_free(&type);
    }
    MPI_Type_free(&both);
}

void root(Harness& h) {
    gpu::Buffer buffer(h.gpu.get(), gpu::Kind::kDevice, kCount * sizeof(int));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (const int wrong : {-7, h.ranks, h.ranks + 100}) {
        h.check(MPI_Bcast(buffer.at(), kCount, MPI_INT, wrong, MPI_COMM_WORLD) != MPI_SUCCESS,
                "root %d is taken", wrong);
    }
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    const std::string_view scenario = argc > 1 ? argv[1] : "";
    Harness h(&argc, &argv);
    if (scenario == "freed_communicator") {
        freed_communicator(h);
    } else if (scenario == "refused") {
        refused(h);
    } else if (scenario == "bottom") {
        bottom(h);
    } else if (scenario == "root") {
        root(h);
    } else if (scenario == "no_wait") {
        // It cannot complete: the last rank never joins in.
        static beeline::gpu::Buffer buffer(h.gpu.get(), beeline::gpu::Kind::kHost, kCount * 4);
        MPI_Request request = MPI_REQUEST_NULL;
        if (h.rank + 1 < h.ranks) {
            MPI_Iallreduce(MPI_IN_PLACE, buffer.at(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           &request);
        }
        MPI_Finalize();
        return 0;
    } else {
        h.check(false, "unknown scenario");
    }
    return h.finish();
}
