// SPDX-License-Identifier: BSD-3-Clause
// The table on standard output and the JSON file.
#pragma once

#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace beeline::bench {

/// "beeline-bench latency D D, 2 ranks".
std::string title(const Options& options, int ranks);

void print_header(const Options& options, int ranks);
/// One line, flushed, so that progress shows.
void print_row(const Options& options, const Row& row);

/// Writes the file that docs/bench.md describes. Throws std::runtime_error when it cannot be
/// written.
void write_json(const Options& options, int ranks, const std::vector<Row>& rows);

}  // namespace beeline::bench
