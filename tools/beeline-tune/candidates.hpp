// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms a call may run, and making it run one.
#pragma once

#include <mpi.h>

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

/// A text variable of MPI_T, for the time of a session of it.
class TextVariable {
 public:
    explicit TextVariable(const std::string& name);
    ~TextVariable();
    TextVariable(const TextVariable&) = delete;
    TextVariable& operator=(const TextVariable&) = delete;
    bool usable() const noexcept { return handle_ != MPI_T_CVAR_HANDLE_NULL; }
    bool write(const std::string& word) const;
    std::string read() const;

 private:
    MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
    int length_ = 0;
};

}  // namespace beeline::tune
