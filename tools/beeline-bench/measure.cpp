// SPDX-License-Identifier: BSD-3-Clause
// How many iterations, in which batches, and what is checked around them.
#include "measure.hpp"

#include <algorithm>
#include <vector>

namespace beeline::bench {
namespace {

// From here on messages are "large": fewer rounds and iterations do. OSU's limit.
constexpr std::size_t kLarge = 8192;

// Bounds when the number of iterations is left to us.
constexpr int kMinIterations = 5;
constexpr int kMaxIterations = 10000;

// The median of this many batches is reported: an interruption of one batch then leaves no mark.
constexpr int kBatches = 9;
constexpr int kWarmupParts = 5;

// On a machine so busy that the batches take longer than this, fewer of them have to do.
constexpr double kPatience = 1;

constexpr int kDecisionTag = 3;

/// Iterations of part `index` when `total` are dealt out to `parts`.
int share_of(int total, int parts, int index) {
    return total / parts + (index < total % parts ? 1 : 0);
}

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
    // The fastest part counts: on a busy machine a slow one says nothing about the operation.
    const int parts = std::min(warmup, kWarmupParts);
    double each = 0;
    for (int part = 0; part < parts; ++part) {
        const int share = share_of(warmup, parts, part);
        synchronize(comm);
        const double start = MPI_Wtime();
        workload.run(share, Spread::kShared);
        const double spent = (MPI_Wtime() - start) / share;
        each = part == 0 ? spent : std::min(each, spent);
    }
    int iterations = options.iterations;
    if (iterations == 0) {
        // Without a warm-up there is nothing to go by.
        const double wanted =
            warmup == 0 ? 100 : options.milliseconds * 1e-3 / std::max(each, 1e-9);
        iterations =
            static_cast<int>(std::clamp(wanted, double{kMinIterations}, double{kMaxIterations}));
    }
    MPI_Bcast(&iterations, 1, MPI_INT, 0, comm);
    return iterations;
}

/// Rank 0's answer on all ranks, by plain messages, so that it leaves no trace in the counters of
/// collectives.
bool decide(bool answer, MPI_Comm comm) {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int value = answer ? 1 : 0;
    for (int peer = 1; rank == 0 && peer < ranks; ++peer) {
        MPI_Send(&value, 1, MPI_INT, peer, kDecisionTag, comm);
    }
    if (rank != 0) {
        MPI_Recv(&value, 1, MPI_INT, 0, kDecisionTag, comm, MPI_STATUS_IGNORE);
    }
    return value != 0;
}

/// Seconds of one iteration on this rank: the median over batches.
double time_batches(Workload& workload, const Options& options, int iterations, PathCounters& paths,
                    MPI_Comm comm) {
    const int batches = std::min(kBatches, iterations);
    const double start = MPI_Wtime();
    std::vector<double> each;
    for (int batch = 0; batch < batches; ++batch) {
        const bool in_time = options.iterations > 0 || MPI_Wtime() - start < kPatience;
        if (batch > 0 && !decide(in_time, comm)) {
            break;
        }
        const int share = share_of(iterations, batches, batch);
        synchronize(comm);
        paths.resume();
        each.push_back(workload.run(share, Spread::kShared) / share);
        paths.pause();
    }
    const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
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
    paths.clear();
    double seconds = time_batches(workload, options, iterations, paths, comm);

    Row row;
    row.bytes = bytes;
    row.path = paths.most_used(comm);
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
