// SPDX-License-Identifier: BSD-3-Clause
// From what was measured to the rules of a tuning file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace beeline::tune {

/// What one candidate took.
struct Timing {
    std::string name;  ///< an algorithm's, or "staged"
    int slices = 1;
    double microseconds = 0;
};

/// The candidates at one size.
struct Measured {
    std::size_t bytes = 0;
    std::vector<Timing> timings;  ///< never empty
};

/// Which calls rules are for.
struct Domain {
    std::string collective;
    int least_ranks = 0;
    int most_ranks = 0;
    int nodes = 1;
};

/// The winner of each size: the fastest; but one that is slower by less than `margin` (a part of
/// the time) stays when it won at the size before, and host copies win over a schedule that is not
/// faster by more than it, and by some tenths of a microsecond: noise shall not decide.
std::vector<Timing> winners(const std::vector<Measured>& sizes, double margin);

/// One line for each run of sizes with one winner, in ascending order of bytes. Between two sizes
/// the limit is their geometric mean; the first rule begins at 0 bytes and the last has no end.
std::string rules(const Domain& domain, const std::vector<Measured>& sizes, double margin);

}  // namespace beeline::tune
