// SPDX-License-Identifier: BSD-3-Clause
// How many iterations, in which batches, and what is checked around them.
#include "measure.hpp"

#include <algorithm>
#include <vector>

namespace beeline::bench {
namespace {

// From here on messages are "large": fewer rounds and iterations do. OSU's limit.
constexpr std::size_t kLarge = 8192;

// The clock runs about this long for a size when the number of iterations is left to us.
constexpr double kSeconds = 0.15;
constexpr int kMinIterations = 5;
constexpr int kMaxIterations = 10000;

// The median of this many batches is reported: an interruption of one batch then leaves no mark.
constexpr int kBatches = 9;

int validated_rounds(std::size_t bytes) {
    return bytes <= kLarge ? 10 : 3;
}

int warmup_iterations(const Options& options, std::size_t bytes) {
    if (options.warmup >= 0) {
        return options.warmup;
    }
    const bool windowed =
        options.operation == Operation::kBw || options.operation == Operation::kBibw;
    return bytes > kLarge ? 2 : (windowed ? 10 : 100);
}

bool run_checked(Workload& workload, std::size_t bytes, unsigned round) {
    workload.prepare(bytes, round);
    workload.run(1, Spread::kSeparate);
    return workload.correct(Spread::kSeparate);
}

/// Runs the warm-up and tells from its duration how many iterations to time. The same on all ranks.
int settle(Workload& workload, const Options& options, std::size_t bytes, MPI_Comm comm) {
    const int warmup = warmup_iterations(options, bytes);
    synchronize(comm);
    const double start = MPI_Wtime();
    workload.run(warmup, Spread::kShared);
    const double each = (MPI_Wtime() - start) / std::max(warmup, 1);
    int iterations = options.iterations;
    if (iterations == 0) {
        // Without a warm-up there is nothing to go by.
        const double wanted = warmup == 0 ? 100 : kSeconds / std::max(each, 1e-9);
        iterations =
            static_cast<int>(std::clamp(wanted, double{kMinIterations}, double{kMaxIterations}));
    }
    MPI_Bcast(&iterations, 1, MPI_INT, 0, comm);
    return iterations;
}

/// Seconds of one iteration on this rank: the median over batches.
double time_batches(Workload& workload, int iterations, MPI_Comm comm) {
    const int batches = std::min(kBatches, iterations);
    std::vector<double> each;
    for (int batch = 0; batch < batches; ++batch) {
        const int share = iterations / batches + (batch < iterations % batches ? 1 : 0);
        synchronize(comm);
        each.push_back(workload.run(share, Spread::kShared) / share);
    }
    const auto middle = each.begin() + batches / 2;
    std::nth_element(each.begin(), middle, each.end());
    return *middle;
}

}  // namespace

Row measure(Workload& workload, const Options& options, std::size_t bytes, PathCounters& paths,
            MPI_Comm comm) {
    unsigned round = 0;
    int right = 1;
    if (options.validate) {
        const unsigned rounds = static_cast<unsigned>(validated_rounds(bytes));
        for (; round < rounds; ++round) {
            right &= run_checked(workload, bytes, round) ? 1 : 0;
        }
    }
    workload.prepare(bytes, round);
    const int iterations = settle(workload, options, bytes, comm);
    paths.start();
    double seconds = time_batches(workload, iterations, comm);

    Row row;
    row.bytes = bytes;
    row.path = paths.stop(comm);
    if (options.validate) {
        right &= workload.correct(Spread::kShared) ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, comm);
        row.validity = right != 0 ? Validity::kRight : Validity::kWrong;
    }
    if (is_collective(options.operation)) {
        int ranks = 0;
        MPI_Comm_size(comm, &ranks);
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_SUM, comm);
        seconds /= ranks;
    }
    row.microseconds = workload.microseconds(seconds);
    row.bandwidth = workload.bandwidth(seconds);
    return row;
}

}  // namespace beeline::bench
