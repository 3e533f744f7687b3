// SPDX-License-Identifier: BSD-3-Clause
// How many iterations, in which batches, and what is checked around them.
#include "measure.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "median.hpp"
#include "variable.hpp"

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

const std::vector<std::string>& prefixes(Operation operation) {
    static const std::vector<std::string> collectives{"coll_beeline_calls_"};
    static const std::vector<std::string> messages{"pml_beeline_bytes_", "pml_beeline_messages_"};
    return is_collective(operation) ? collectives : messages;
}

/// What is measured of one algorithm.
struct Turn {
    Turn(std::string name, Operation operation)
        : algorithm(std::move(name)), paths(prefixes(operation)) {}
    std::string algorithm;
    PathCounters paths;
    int iterations = 0;
    std::vector<double> seconds;  ///< of one iteration on this rank, of each batch
    std::vector<double> copied;   ///< MB/s of this rank before each batch, and after the last
};

/// One batch of a turn, with copies beside it if they are asked for.
void run_batch(Workload& workload, const Options& options, Turn& turn, int batch, MPI_Comm comm) {
    const int batches = std::min(kBatches, turn.iterations);
    if (batch >= batches) {
        return;
    }
    if (options.copies) {
        turn.copied.push_back(workload.copy());
    }
    if (options.algorithms.size() > 1 || options.copies) {
        workload.run(1, Spread::kShared);  // the caches are as this one leaves them
    }
    const int share = share_of(turn.iterations, batches, batch);
    synchronize(comm);
    turn.paths.resume();
    turn.seconds.push_back(workload.run(share, Spread::kShared) / share);
    turn.paths.pause();
    if (options.copies) {
        turn.copied.push_back(workload.copy());
        workload.run(1, Spread::kShared);  // for the data that is checked
    }
}

/// The batches of all turns, one of each after another.
void time_batches(Workload& workload, const Options& options, const TextVariable* variable,
                  std::deque<Turn>& turns, MPI_Comm comm) {
    const double start = MPI_Wtime();
    for (int batch = 0; batch < kBatches; ++batch) {
        const double patience = kPatience * static_cast<double>(turns.size());
        const bool in_time = options.iterations > 0 || MPI_Wtime() - start < patience;
        if (batch > 0 && !decide(in_time, comm)) {
            break;
        }
        for (Turn& turn : turns) {
            if (variable != nullptr) {
                variable->write(turn.algorithm);
            }
            run_batch(workload, options, turn, batch, comm);
        }
    }
}

/// The sum of each over all ranks.
void add_up(std::vector<double>& values, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                  comm);
}

Row row_of(const Workload& workload, const Options& options, std::size_t bytes, Turn& turn,
           MPI_Comm comm) {
    Row row;
    row.bytes = bytes;
    row.algorithm = turn.algorithm;
    row.path = turn.paths.most_used(comm);
    if (is_collective(options.operation)) {
        int ranks = 0;
        MPI_Comm_size(comm, &ranks);
        std::vector<double> seconds{median(turn.seconds)};
        seconds.insert(seconds.end(), turn.seconds.begin(), turn.seconds.end());
        add_up(seconds, comm);
        add_up(turn.copied, comm);
        for (double& each : seconds) {
            each /= ranks;
        }
        for (std::size_t batch = 0; batch < turn.seconds.size(); ++batch) {
            const double copied =
                turn.copied.empty() ? 0 : (turn.copied[2 * batch] + turn.copied[2 * batch + 1]) / 2;
            row.batches.push_back({seconds[1 + batch] * 1e6, copied});
        }
        turn.seconds = {seconds.front()};
    }
    const double seconds = median(turn.seconds);
    row.microseconds = workload.microseconds(seconds);
    row.bandwidth = workload.bandwidth(seconds);
    return row;
}

}  // namespace

std::string algorithm_variable(Operation operation) {
    return std::string("coll_beeline_") + to_string(operation) + "_algorithm";
}

std::vector<Row> measure(Workload& workload, const Options& options, std::size_t bytes,
                         MPI_Comm comm) {
    std::optional<TextVariable> variable;
    std::string before;
    std::deque<Turn> turns;  // counters cannot be moved
    if (options.algorithms != std::vector<std::string>{""}) {
        before = variable.emplace(algorithm_variable(options.operation)).read();
    }
    unsigned round = 0;
    int right = 1;
    for (const std::string& algorithm : options.algorithms) {
        if (variable) {
            variable->write(algorithm);
        }
        const int rounds = options.validate ? validated_rounds(bytes) : 0;
        for (int check = 0; check < rounds; ++check) {
            right &= run_checked(workload, bytes, round++) ? 1 : 0;
        }
        workload.prepare(bytes, round);
        turns.emplace_back(algorithm, options.operation);
        turns.back().iterations = settle(workload, options, bytes, comm);
    }
    time_batches(workload, options, variable ? &*variable : nullptr, turns, comm);
    if (options.validate) {
        right &= workload.correct(Spread::kShared) ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, comm);
    }
    std::vector<Row> rows;
    for (Turn& turn : turns) {
        rows.push_back(row_of(workload, options, bytes, turn, comm));
        rows.back().validity = !options.validate ? Validity::kNotChecked
                               : right != 0      ? Validity::kRight
                                                 : Validity::kWrong;
    }
    if (variable) {
        variable->write(before);
    }
    return rows;
}

}  // namespace beeline::bench
