// SPDX-License-Identifier: BSD-3-Clause
// What the command line of beeline-bench asks for.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/gpu/gpu.hpp"

namespace beeline::bench {

enum class Operation {
    kLatency,
    kBw,
    kBibw,
    kAllreduce,
    kBcast,
    kReduce,
    kAllgather,
    kReduceScatter,
    kAlltoall,
    kGather,
    kScatter,
    kBarrier
};

/// The subcommand's name.
const char* to_string(Operation operation) noexcept;

/// True for the operations that every rank of the communicator takes part in.
bool is_collective(Operation operation) noexcept;

struct Options {
    Operation operation = Operation::kLatency;
    /// Memory of rank 0 and rank 1; in a collective of even and odd ranks.
    std::array<gpu::Kind, 2> kinds = {gpu::Kind::kHost, gpu::Kind::kHost};
    std::size_t min_bytes = 1;
    std::size_t max_bytes = 4 << 20;
    std::vector<std::size_t> sizes;  ///< these instead of every power of two between the two
    int iterations = 0;              ///< for each size; 0: as many as fit `milliseconds`
    int milliseconds = 150;          ///< about how long the clock runs for each size
    int warmup = -1;                 ///< for each size; negative: by size
    int window = 64;                 ///< messages in flight in bw and bibw
    int threads = 1;                 ///< of each rank, in latency, bw and bibw
    /// Algorithms, as the parameter of the collective names them, to be timed in turns; one of no
    /// name is whatever is set.
    std::vector<std::string> algorithms = {""};
    bool copies = false;  ///< time copies of device memory between the batches of a collective
    bool validate = true;
    std::string json;  ///< file to write, empty for none

    /// "D D": the sides in OSU's letters.
    std::string sides() const;
};

/// Whether the command line asks for threads, which MPI must know at its start.
bool wants_threads(int argc, char** argv) noexcept;

/// Parses the command line. Without a value the program is to end with `exit_code`; whatever there
/// was to say (help, or what is wrong) has then been printed, if `speaks`.
std::optional<Options> parse(int argc, char** argv, bool speaks, int& exit_code);

}  // namespace beeline::bench
