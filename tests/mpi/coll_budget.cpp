// SPDX-License-Identifier: BSD-3-Clause
// What collectives on data in blocks may cost: driver calls that do not grow with the number of
// blocks, and memory as the data, not as the span it lies in.
//   coll_budget [staged] device    staged: calls run on host copies
#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "tests/mpi/harness.hpp"

namespace beeline::test {
namespace {

/// SoftCUDA's counters of copies and launches in this process.
class Meter {
 public:
    Meter() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        calls_ = library == nullptr ? nullptr
                                    : reinterpret_cast<unsigned long long (*)(const char*)>(
                                          dlsym(library, "softcuda_calls"));
    }
    bool usable() const { return calls_ != nullptr; }
    unsigned long long copies() const {
        unsigned long long sum = 0;
        for (const char* name : {"cuMemcpy", "cuMemcpyAsync", "cuMemcpyDtoH", "cuMemcpyHtoD",
                                 "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuMemcpyDtoD",
                                 "cuMemcpyDtoDAsync", "cuMemcpy2D", "cuMemcpy2DAsync"}) {
            sum += calls_(name);
        }
        return sum;
    }
    unsigned long long launches() const { return calls_("cuLaunchKernel"); }

 private:
    unsigned long long (*calls_)(const char*) = nullptr;
};

/// Most memory that this process has had in use, in bytes.
std::size_t peak() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("VmHWM:")) {
            std::size_t kilobytes = 0;
            std::istringstream(line.substr(6)) >> kilobytes;
            return kilobytes << 10;
        }
    }
    return 0;
}

/// Runs `call` once to make what is made once, then again: the copies and launches of the second.
template <class Call>
std::pair<unsigned long long, unsigned long long> cost_of(const Meter& meter, Call&& call) {
    call();
    const unsigned long long copies = meter.copies();
    const unsigned long long launches = meter.launches();
    call();
    return {meter.copies() - copies, meter.launches() - launches};
}

/// An alltoall of many small blocks: each rank's data is moved by a launch and a copy a chunk.
void alltoall_of_vectors(Harness& h, const Meter& meter) {
    const auto ranks = static_cast<std::size_t>(h.ranks);
    for (const int blocks : {1000, 100000}) {
        MPI_Datatype vector = MPI_DATATYPE_NULL;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE, &vector);
        const std::size_t extent = static_cast<std::size_t>(blocks) * 2;
        MPI_Type_create_resized(vector, 0, static_cast<MPI_Aint>(extent * sizeof(double)), &type);
        MPI_Type_commit(&type);
        gpu::Buffer in(h.gpu.get(), gpu::Kind::kDevice, ranks * extent * sizeof(double));
        gpu::Buffer out(h.gpu.get(), gpu::Kind::kDevice, ranks * extent * sizeof(double));
        std::vector<double> values(ranks * extent);
        for (std::size_t index = 0; index < values.size(); ++index) {
            values[index] = 1e6 * h.rank + static_cast<double>(index);
        }
        in.write(0, values.data(), in.size());
        out.write(0, values.data(), out.size());
        const auto [copies, launches] = cost_of(
            meter, [&] { MPI_Alltoall(in.at(), 1, type, out.at(), 1, type, MPI_COMM_WORLD); });
        // 800 kB a peer are four chunks each way; the rest is the messages' own.
        const unsigned long long limit = 12ULL * ranks;
        h.check(copies <= limit && launches <= limit,
                "alltoall of %d blocks: %llu copies and %llu launches", blocks, copies, launches);
        std::vector<double> seen(values.size());
        out.read(0, seen.data(), out.size());
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const std::size_t at = rank * extent;
            const double from = 1e6 * static_cast<double>(rank) +
                                static_cast<double>(static_cast<std::size_t>(h.rank) * extent);
            h.check(seen[at] == from && seen[at + 2] == from + 2 && seen[at + 1] == values[at + 1],
                    "the block of rank %zu is wrong", rank);
        }
        MPI_Type_free(&type);
        MPI_Type_free(&vector);
    }
}

/// The own part of an alltoall is one copy, however long.
void alltoall_to_self(Harness& h, const Meter& meter) {
    constexpr int kBytes = 64 << 20;
    gpu::Buffer in(h.gpu.get(), gpu::Kind::kDevice, kBytes);
    gpu::Buffer out(h.gpu.get(), gpu::Kind::kDevice, kBytes);
    const auto [copies, launches] = cost_of(meter, [&] {
        MPI_Alltoall(in.at(), kBytes, MPI_BYTE, out.at(), kBytes, MPI_BYTE, MPI_COMM_SELF);
    });
    h.check(copies == 1 && launches == 0, "64 MiB to oneself: %llu copies, %llu launches", copies,
            launches);
}

/// One byte in each MiB: 4 KiB of data in 4 GiB.
void sparse_data(Harness& h) {
    constexpr int kBlocks = 4096;
    constexpr std::size_t kStride = std::size_t{1} << 20;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(kBlocks, 1, kStride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    gpu::Buffer buffer(h.gpu.get(), gpu::Kind::kDevice, kBlocks * kStride);
    for (const int block : {0, 1, kBlocks - 1}) {
        const unsigned char value = static_cast<unsigned char>(h.rank == 0 ? 7 + block % 100 : 1);
        buffer.write(static_cast<std::size_t>(block) * kStride, &value, 1);
    }
    const std::size_t before = peak();
    MPI_Bcast(buffer.at(), 1, type, 0, MPI_COMM_WORLD);
    const std::size_t grown = peak() - before;
    // A page of each block at most, on the way in and on the way out.
    h.check(grown < (std::size_t{64} << 20), "4 KiB of data took %zu MiB", grown >> 20);
    for (const int block : {0, 1, kBlocks - 1}) {
        unsigned char value = 0;
        buffer.read(static_cast<std::size_t>(block) * kStride, &value, 1);
        h.check(value == 7 + block % 100, "block %d is wrong", block);
    }
    MPI_Type_free(&type);
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    Harness h(&argc, &argv);
    {
        const Meter meter;
        h.check(meter.usable(), "the driver is not SoftCUDA");
        if (meter.usable()) {
            sparse_data(h);
            alltoall_of_vectors(h, meter);
            if (std::string_view(argv[1]) != "staged") {
                alltoall_to_self(h, meter);
            }
        }
    }
    return h.finish();
}
