// SPDX-License-Identifier: BSD-3-Clause
// What bench/overlap runs: two ranks exchange a large message and compute meanwhile, without a call
// to MPI in between.
//   overlap_run host|cuda BYTES ITERATIONS sleep|work
// sleep: the computation is elsewhere, as on a GPU, and the process waits for it;
// work:  the process computes itself.
// Rank 0 prints the medians, in microseconds: of the exchange alone, of the computation alone, and
// of both.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tools/gpu/gpu.hpp"

namespace {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Arithmetic that nothing can shorten; `rounds` of it.
double work(long rounds) {
    volatile double start = 1.0;
    double value = start;
    for (long i = 0; i < rounds; ++i) {
        value = value * 1.0000001 + 1e-9;
    }
    return value;
}

class Overlap {
 public:
    Overlap(beeline::gpu::Gpu* gpu, bool device, std::size_t bytes, bool sleeps)
        : out_(gpu, device ? beeline::gpu::Kind::kDevice : beeline::gpu::Kind::kHost, bytes),
          in_(gpu, device ? beeline::gpu::Kind::kDevice : beeline::gpu::Kind::kHost, bytes),
          sleeps_(sleeps) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        other_ = 1 - rank;
        std::vector<unsigned char> some(1 << 20, static_cast<unsigned char>(rank + 1));
        for (std::size_t at = 0; at < bytes; at += some.size()) {
            out_.write(at, some.data(), std::min(some.size(), bytes - at));
            in_.write(at, some.data(), std::min(some.size(), bytes - at));
        }
        const double start = MPI_Wtime();
        sink_ = work(kCalibration);
        rounds_per_second_ = static_cast<double>(kCalibration) / (MPI_Wtime() - start);
    }

    /// Makes one computation take `seconds` when nothing else runs.
    void set_computation(double seconds) {
        seconds_ = seconds;
        rounds_ = static_cast<long>(seconds * rounds_per_second_);
    }
    double time(bool exchange, bool compute) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        if (exchange) {
            MPI_Irecv(in_.at(), static_cast<int>(in_.size()), MPI_BYTE, other_, 1, MPI_COMM_WORLD,
                      &requests[0]);
            MPI_Isend(out_.at(), static_cast<int>(out_.size()), MPI_BYTE, other_, 1, MPI_COMM_WORLD,
                      &requests[1]);
        }
        if (compute) {
            run();
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        double took = MPI_Wtime() - start;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return took;
    }

 private:
    static constexpr long kCalibration = 20000000;

    void run() {
        if (sleeps_) {
            const auto nanoseconds = static_cast<long>(seconds_ * 1e9);
            const timespec pause{nanoseconds / 1000000000, nanoseconds % 1000000000};
            nanosleep(&pause, nullptr);
        } else {
            sink_ = work(rounds_);
        }
    }

    beeline::gpu::Buffer out_;
    beeline::gpu::Buffer in_;
    bool sleeps_;
    int other_ = 0;
    double seconds_ = 0;
    long rounds_ = 0;
    double rounds_per_second_ = 0;
    volatile double sink_ = 0;
};

int usage() {
    std::fprintf(stderr, "usage: overlap_run host|cuda BYTES ITERATIONS sleep|work\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5 || ranks != 2) {
        MPI_Finalize();
        return usage();
    }
    const bool device = std::strcmp(argv[1], "cuda") == 0;
    const std::size_t bytes = std::strtoull(argv[2], nullptr, 10);
    const int iterations = std::max(1, std::atoi(argv[3]));
    std::string why;
    std::unique_ptr<beeline::gpu::Gpu> gpu =
        device ? beeline::gpu::Gpu::open(rank, why) : std::unique_ptr<beeline::gpu::Gpu>();
    if (device && gpu == nullptr) {
        std::fprintf(stderr, "overlap_run: no GPU: %s\n", why.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    {
        Overlap overlap(gpu.get(), device, bytes, std::strcmp(argv[4], "sleep") == 0);
        std::vector<double> alone;
        std::vector<double> computing;
        std::vector<double> both;
        overlap.time(true, false);  // connects, and opens what is kept
        for (int i = 0; i < iterations; ++i) {
            alone.push_back(overlap.time(true, false));
        }
        // Long enough to hide the exchange, were it all to run beside it.
        overlap.set_computation(1.5 * median(alone));
        for (int i = 0; i < iterations; ++i) {
            computing.push_back(overlap.time(false, true));
            both.push_back(overlap.time(true, true));
        }
        if (rank == 0) {
            std::printf("{\"alone\": %.1f, \"compute\": %.1f, \"both\": %.1f}\n",
                        1e6 * median(alone), 1e6 * median(computing), 1e6 * median(both));
        }
    }
    gpu.reset();
    MPI_Finalize();
    return 0;
}
