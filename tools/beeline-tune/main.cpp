// SPDX-License-Identifier: BSD-3-Clause
// beeline-tune: measures the collectives of this machine by every schedule and by host copies, and
// writes the tuning file that chooses the fastest.
#include <mpi.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include "tools/beeline-bench/median.hpp"
#include "tools/beeline-bench/variable.hpp"
#include "tools/beeline-bench/workload.hpp"
#include "tools/beeline-tune/candidates.hpp"
#include "tools/beeline-tune/rules.hpp"

namespace beeline::tune {
namespace {

using bench::median;
using bench::Operation;
using bench::TextVariable;

constexpr int kCannotRun = 2;
/// Candidates that took this many times the best are not measured again.
constexpr double kHopeless = 1.5;
constexpr double kMargin = 0.08;
constexpr std::size_t kBatches = 5;

constexpr Operation kOperations[] = {
    Operation::kAllreduce,     Operation::kBcast,    Operation::kReduce, Operation::kAllgather,
    Operation::kReduceScatter, Operation::kAlltoall, Operation::kGather, Operation::kScatter};

struct Options {
    std::string output = "beeline.tuning";
    std::string memory = "device";
    std::vector<std::string> collectives;
    std::vector<int> ranks;
    std::size_t least = 1 << 10;
    std::size_t most = 64 << 20;
    std::size_t step = 4;
    double milliseconds = 10;
    int rounds = 3;
    gpu::Kind kind() const { return memory == "host" ? gpu::Kind::kHost : gpu::Kind::kDevice; }
};

bool on_blocks(Operation operation) {
    return operation == Operation::kAllgather || operation == Operation::kReduceScatter ||
           operation == Operation::kAlltoall || operation == Operation::kGather ||
           operation == Operation::kScatter;
}

/// Ranks that have no part in what is measured leave the cores to the others meanwhile.
void wait_for_all() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    int done = 0;
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done != 0) {
            return;
        }
        const timespec pause{0, 1000000};
        nanosleep(&pause, nullptr);
    }
}

/// Measures one collective on one communicator.
class Measurement {
 public:
    Measurement(const Options& options, Operation operation, gpu::Gpu* gpu, MPI_Comm comm)
        : options_(options),
          operation_(operation),
          comm_(comm),
          word_(std::string("coll_beeline_") + bench::to_string(operation) + "_algorithm") {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &ranks_);
        bench::Options made;
        made.operation = operation;
        made.kinds = {options.kind(), options.kind()};
        made.max_bytes = sizes().back();
        workload_ = bench::make_collective(made, gpu, comm);
    }

    std::vector<Measured> run() {
        std::vector<Measured> all;
        for (const std::size_t bytes : sizes()) {
            all.push_back(measure(bytes));
            if (rank_ == 0) {
                print(all.back());
            }
        }
        word_.write("auto");
        return all;
    }

 private:
    std::vector<std::size_t> sizes() const {
        const std::size_t blocks = on_blocks(operation_) ? static_cast<std::size_t>(ranks_) : 1;
        std::vector<std::size_t> list;
        const auto add = [&](std::size_t bytes) {
            const std::size_t each = std::max<std::size_t>(bytes / blocks / 4 * 4, 4);
            if (list.empty() || list.back() < each) {
                list.push_back(each);
            }
        };
        for (std::size_t bytes = options_.least; bytes <= options_.most; bytes *= options_.step) {
            add(bytes);
        }
        add(options_.most);
        return list;
    }

    /// Mean microseconds of one call over the ranks, equal on all of them.
    double time(int iterations) {
        double seconds = workload_->run(iterations, bench::Spread::kShared) / iterations;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_SUM, comm_);
        return seconds / ranks_ * 1e6;
    }

    double time_candidate(const std::string& name) {
        word_.write(name);
        bench::synchronize(comm_);
        const double first = time(1);  // makes what is made once
        const double each = std::min(first, time(1));
        const double wanted = options_.milliseconds * 1e3 / std::max(each, 0.1);
        // Short batches: what interrupts one of them leaves no mark. Not the fastest counts, which
        // would favour a candidate that is fast now and then.
        const int batch = static_cast<int>(std::clamp(wanted / kBatches, 1.0, 4000.0));
        std::vector<double> batches{time(batch)};
        while (batches.size() < kBatches && batch > 1) {
            batches.push_back(time(batch));
        }
        return median(std::move(batches));
    }

    Measured measure(std::size_t bytes) {
        const std::vector<Candidate> all =
            candidates(operation_, ranks_, bytes, options_.kind() == gpu::Kind::kHost);
        std::vector<std::vector<double>> times(all.size());
        workload_->prepare(bytes, 0);
        double best = 0;
        for (int round = 0; round < options_.rounds; ++round) {
            for (std::size_t index = 0; index < all.size(); ++index) {
                if (round > 0 && times[index].front() > kHopeless * best) {
                    continue;
                }
                const double taken = time_candidate(all[index].name);
                times[index].push_back(taken);
                best = best == 0 ? taken : std::min(best, taken);
            }
        }
        Measured measured{bytes, {}};
        for (std::size_t index = 0; index < all.size(); ++index) {
            measured.timings.push_back(
                {all[index].name, all[index].slices, median(std::move(times[index]))});
        }
        return measured;
    }

    void print(const Measured& measured) const {
        std::printf("%-15s %3d ranks %10zu bytes", bench::to_string(operation_), ranks_,
                    measured.bytes);
        for (const Timing& timing : measured.timings) {
            std::printf("  %s %.1f", timing.name.c_str(), timing.microseconds);
        }
        std::printf(" us\n");
        std::fflush(stdout);
    }

    const Options& options_;
    Operation operation_;
    MPI_Comm comm_;
    TextVariable word_;
    int rank_ = 0;
    int ranks_ = 0;
    std::unique_ptr<bench::Workload> workload_;
};

std::optional<Options> parse(int argc, char** argv, bool speaks, int& exit_code) {
    Options options;
    CLI::App app(
        "Measures collectives by every schedule and by host copies, and writes the tuning file "
        "that "
        "chooses the fastest: mpirun -n N beeline-tune");
    app.add_option("-o,--output", options.output, "File to write")->capture_default_str();
    app.add_option("-d,--memory", options.memory, "Memory of the buffers")
        ->check(CLI::IsMember({"device", "host"}))
        ->capture_default_str();
    app.add_option("--collective", options.collectives, "This one (may be given again)");
    app.add_option("--ranks", options.ranks, "On these numbers of ranks, as 2,4 (default: all)")
        ->delimiter(',');
    app.add_option("--min", options.least, "Shortest vector")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--max", options.most, "Longest vector")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--step", options.step, "Factor between sizes")
        ->check(CLI::Range(2, 1024))
        ->capture_default_str();
    app.add_option("--milliseconds", options.milliseconds, "About how long each is timed")
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "Times that each is timed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        exit_code = speaks ? app.exit(error) : (error.get_exit_code() == 0 ? 0 : kCannotRun);
        return std::nullopt;
    }
    options.most = std::max(options.most, options.least);
    return options;
}

/// Empty when all is as it must be.
std::string complaint_of(const Options& options, int ranks) {
    if (!TextVariable("coll_beeline_allreduce_algorithm").usable()) {
        return "coll/beeline is not there; start it with mpirun --tune beeline.conf";
    }
    if (!TextVariable("coll_beeline_tuning_file").read().empty()) {
        return "coll_beeline_tuning_file must not be set";
    }
    const std::string memory = TextVariable("coll_beeline_memory").read();
    if (memory != options.memory) {
        return "for " + options.memory + " memory add --mca coll_beeline_memory " + options.memory;
    }
    for (const int number : options.ranks) {
        if (number < 2 || number > ranks) {
            return "--ranks must be from 2 to the number of ranks";
        }
    }
    return ranks < 2 ? "there must be two ranks" : "";
}

bool wanted(const Options& options, Operation operation) {
    const auto& names = options.collectives;
    return names.empty() ||
           std::find(names.begin(), names.end(), bench::to_string(operation)) != names.end();
}

int nodes_of(MPI_Comm comm) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int rank = 0;
    MPI_Comm_rank(node, &rank);
    int nodes = rank == 0 ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&node);
    return nodes;
}

/// The rules for one number of ranks; empty on ranks that have no part in it.
std::string tune(const Options& options, gpu::Gpu* gpu, int number, int next_number) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < number ? 0 : MPI_UNDEFINED, rank, &comm);
    std::string text;
    if (comm != MPI_COMM_NULL) {
        const int nodes = nodes_of(comm);
        for (const Operation operation : kOperations) {
            if (wanted(options, operation)) {
                const std::vector<Measured> sizes =
                    Measurement(options, operation, gpu, comm).run();
                text += rules({bench::to_string(operation), number, next_number - 1, nodes}, sizes,
                              kMargin);
            }
        }
        MPI_Comm_free(&comm);
    }
    wait_for_all();
    return text;
}

int run(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int exit_code = 0;
    std::optional<Options> options = parse(argc, argv, rank == 0, exit_code);
    if (!options) {
        return exit_code;
    }
    std::string complaint = complaint_of(*options, ranks);
    std::unique_ptr<gpu::Gpu> gpu;
    if (complaint.empty() && options->kind() != gpu::Kind::kHost) {
        gpu = gpu::Gpu::open(rank, complaint);
    }
    int speaker = complaint.empty() ? ranks : rank;
    MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (speaker != ranks) {
        if (speaker == rank) {
            std::fprintf(stderr, "beeline-tune: %s\n", complaint.c_str());
        }
        return kCannotRun;
    }
    if (options->ranks.empty()) {
        options->ranks = {ranks};
    }
    std::sort(options->ranks.begin(), options->ranks.end());
    std::string text = "beeline-tuning 1\n# by beeline-tune, for " + options->memory + " memory\n";
    for (std::size_t index = 0; index < options->ranks.size(); ++index) {
        const int number = options->ranks[index];
        const bool last = index + 1 == options->ranks.size();
        text += tune(*options, gpu.get(), number, last ? number + 1 : options->ranks[index + 1]);
    }
    int written = 1;
    if (rank == 0) {
        std::ofstream file(options->output);
        file << text;
        file.close();
        written = file ? 1 : 0;
        std::fprintf(stderr, "beeline-tune: %s %s\n", written != 0 ? "wrote" : "cannot write",
                     options->output.c_str());
    }
    MPI_Bcast(&written, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return written != 0 ? 0 : kCannotRun;
}

}  // namespace
}  // namespace beeline::tune

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int level = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    int exit_code = beeline::tune::kCannotRun;
    try {
        exit_code = beeline::tune::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "beeline-tune: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, beeline::tune::kCannotRun);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return exit_code;
}
