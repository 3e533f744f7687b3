// SPDX-License-Identifier: BSD-3-Clause
// Timing a workload at one size.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "options.hpp"
#include "paths.hpp"
#include "workload.hpp"

namespace beeline::bench {

enum class Validity { kNotChecked, kRight, kWrong };

struct Row {
    std::size_t bytes = 0;
    double microseconds = 0;
    double bandwidth = 0;  ///< MB/s, see Workload::bandwidth
    std::string path;
    Validity validity = Validity::kNotChecked;
};

/// Checks, warms up, times and checks again. Collective over `comm`; the times are those of rank 0
/// in point-to-point tests, and the mean over the ranks in collectives.
Row measure(Workload& workload, const Options& options, std::size_t bytes, PathCounters& paths,
            MPI_Comm comm);

}  // namespace beeline::bench
