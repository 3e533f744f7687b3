// SPDX-License-Identifier: BSD-3-Clause
// Parameters of Beeline that a running program reads and changes.
#pragma once

#include <mpi.h>

#include <string>

namespace beeline::bench {

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

}  // namespace beeline::bench
