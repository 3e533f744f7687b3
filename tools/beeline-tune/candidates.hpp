// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms a call may run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/beeline-bench/options.hpp"

namespace beeline::tune {

struct Candidate {
    std::string name;  ///< as in the parameter
    int slices = 1;    ///< that the plugin will cut blocks into
};

/// All that can serve this call on `ranks` ranks of one node, host copies first.
std::vector<Candidate> candidates(bench::Operation operation, int ranks, std::size_t bytes,
                                  bool host_memory);

}  // namespace beeline::tune
