// SPDX-License-Identifier: BSD-3-Clause
// beeline-bench: how fast MPI moves host, CUDA and managed memory, by which path, and whether the
// data is right.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"
#include "report.hpp"
#include "tools/gpu/gpu.hpp"
#include "variable.hpp"

namespace beeline::bench {
namespace {

/// Exit codes: the data was wrong, or the run could not be made.
constexpr int kWrongData = 1;
constexpr int kCannotRun = 2;

struct World {
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0;
    int ranks = 0;
};

int local_rank(const World& world) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int rank = 0;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

/// The first rank that has something to say says it; true if nobody had. Collective.
bool agree(const World& world, const std::string& complaint) {
    int speaker = complaint.empty() ? world.ranks : world.rank;
    MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, world.comm);
    if (speaker == world.rank) {
        std::fprintf(stderr, "beeline-bench: %s\n", complaint.c_str());
    }
    return speaker == world.ranks;
}

std::vector<std::size_t> sizes(const Options& options) {
    if (!options.sizes.empty()) {
        return options.sizes;
    }
    std::vector<std::size_t> list;
    for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes;
         bytes = std::max<std::size_t>(1, 2 * bytes)) {
        list.push_back(bytes);
    }
    return list;
}

int run_sizes(const Options& options, gpu::Gpu* gpu, const World& world) {
    const bool collective = is_collective(options.operation);
    const auto workload = collective            ? make_collective(options, gpu, world.comm)
                          : options.threads > 1 ? make_threaded(options, world.comm)
                                                : make_point_to_point(options, gpu, world.comm);
    if (world.rank == 0) {
        print_header(options, world.ranks);
    }
    std::vector<Row> rows;
    bool right = true;
    for (const std::size_t bytes : sizes(options)) {
        for (const Row& row : measure(*workload, options, bytes, world.comm)) {
            rows.push_back(row);
            right &= row.validity != Validity::kWrong;
            if (world.rank == 0) {
                print_row(options, row);
            }
        }
    }
    if (world.rank == 0 && !options.json.empty()) {
        write_json(options, world.ranks, rows);
    }
    return right ? 0 : kWrongData;
}

/// Empty when the test can run in several threads.
std::string why_no_threads(const Options& options) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (is_collective(options.operation)) {
        return "--threads is for latency, bw and bibw";
    }
    if (options.kinds[0] != gpu::Kind::kHost || options.kinds[1] != gpu::Kind::kHost) {
        return "--threads is for host memory";
    }
    return level == MPI_THREAD_MULTIPLE ? ""
                                        : "this MPI library was built without MPI_THREAD_MULTIPLE";
}

/// Empty when the algorithms asked for can be.
std::string why_no_algorithms(const Options& options) {
    const bool plain = options.algorithms == std::vector<std::string>{""};
    if (!is_collective(options.operation)) {
        return plain && !options.copies ? "" : "--algorithms and --copies are for collectives";
    }
    const std::string name = algorithm_variable(options.operation);
    return plain || TextVariable(name).usable() ? "" : "--algorithms: there is no " + name;
}

int run(int argc, char** argv, const World& world) {
    int exit_code = 0;
    const auto options = parse(argc, argv, world.rank == 0, exit_code);
    if (!options) {
        return exit_code;
    }
    std::string complaint = why_no_algorithms(*options);
    if (!is_collective(options->operation) && world.ranks != 2) {
        complaint = std::string(to_string(options->operation)) + " runs between 2 ranks, not " +
                    std::to_string(world.ranks) + "; start it with mpirun -n 2";
    }
    if (options->threads > 1) {
        complaint = why_no_threads(*options);
    }
    if (!agree(world, complaint)) {
        return kCannotRun;
    }
    const gpu::Kind kind = options->kinds[static_cast<std::size_t>(world.rank % 2)];
    const int index = local_rank(world);
    std::unique_ptr<gpu::Gpu> gpu;
    if (kind != gpu::Kind::kHost) {
        std::string why;
        gpu = gpu::Gpu::open(index, why);
        if (!gpu) {
            complaint = "no GPU for " + std::string(gpu::to_string(kind)) + " memory: " + why;
        }
    }
    if (!agree(world, complaint)) {
        return kCannotRun;
    }
    return run_sizes(*options, gpu.get(), world);
}

}  // namespace
}  // namespace beeline::bench

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(
        &argc, &argv,
        beeline::bench::wants_threads(argc, argv) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
        &level);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    beeline::bench::World world;
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.ranks);
    int exit_code = 0;
    try {
        exit_code = beeline::bench::run(argc, argv, world);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "beeline-bench: rank %d: %s\n", world.rank, error.what());
        MPI_Abort(world.comm, beeline::bench::kCannotRun);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return exit_code;
}
