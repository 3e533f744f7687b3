// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of beeline-plan. Each returns an exit status.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coll/plan/collective.hpp"

namespace beeline::tool {

struct VerifyOptions {
    bool quick = false;
    std::string collective;  ///< empty: all
    std::string algorithm;   ///< empty: all
};

/// Proves algorithms and prints what was proved; 1 when a proof fails.
int verify(const VerifyOptions& options);

/// Prints the algorithms of a collective, or of all when `collective` is empty.
int list(const std::string& collective);

struct ShowOptions {
    std::string collective;
    std::string algorithm;  ///< empty: the one that would be chosen
    int ranks = 8;
    int rank = 0;  ///< whose steps are printed; negative: all
    int root = 0;
    int slices = 0;  ///< 0: as chosen
    std::size_t bytes = 1 << 20;
    std::vector<int> nodes;  ///< ranks of each node; empty: one node
    bool in_place = false;
    bool commutative = true;
    bool unrolled = false;          ///< all steps, no loops
    std::string memory = "device";  ///< that the costs inside a node are for
    std::string tuning;             ///< file; empty: built-in rates
    std::string schedules;          ///< files, as of coll_beeline_schedule_file; empty: none
    std::string name;               ///< of the schedules in `json`; empty: the algorithm's
    std::string svg;                ///< files to write; empty: none
    std::string json;
};

/// Prints the candidates with their costs, the choice with its reason, and the steps.
int show(const ShowOptions& options);

struct CheckOptions {
    std::string file;
    std::size_t bytes = 1 << 20;  ///< of the vector or a block, for the picture
    std::string svg;              ///< files to write; empty: none
    std::string json;
    std::string name;  ///< that they get in `json`; empty: their own
};

/// Reads a document, JSON or MSCCL's XML, proves what is in it and prints what was found; 1 when it
/// is refused.
int check(const CheckOptions& options);

/// Writes `text` to a file, or complains and returns false.
bool write_file(const std::string& file, const std::string& text);

}  // namespace beeline::tool
