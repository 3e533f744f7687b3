// SPDX-License-Identifier: BSD-3-Clause
// Timing a workload at one size.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "options.hpp"
#include "paths.hpp"
#include "workload.hpp"

namespace beeline::bench {

enum class Validity { kNotChecked, kRight, kWrong };

struct Row {
    std::size_t bytes = 0;
    double microseconds = 0;
    double bandwidth = 0;   ///< MB/s, see Workload::bandwidth
    std::string algorithm;  ///< of Options::algorithms
    std::string path;
    struct Batch {
        double microseconds;
        double copied;  ///< MB/s of all ranks together, right before and after; 0 if not asked for
    };
    /// Of collectives: those of one number, of all algorithms, ran one right after another.
    std::vector<Batch> batches;
    Validity validity = Validity::kNotChecked;
};

/// The parameter that names a collective's algorithm.
std::string algorithm_variable(Operation operation);

/// Checks, warms up, times and checks again, for each of the algorithms. Collective over `comm`;
/// the times are those of rank 0 in point-to-point tests, and the mean over the ranks in
/// collectives.
std::vector<Row> measure(Workload& workload, const Options& options, std::size_t bytes,
                         MPI_Comm comm);

}  // namespace beeline::bench
