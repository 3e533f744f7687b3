// SPDX-License-Identifier: BSD-3-Clause
// Which way the messages of a measurement took, from the counters Beeline publishes as MPI_T
// variables.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace beeline::bench {

/// Reads every performance variable whose name is one of `prefixes` followed by the name of a way.
/// Usable without any such variable (another component was selected): the answer is then "-".
class PathCounters {
 public:
    /// The first prefix under which something was counted decides: bytes before messages, for
    /// example, so that empty messages between the measured ones have no say.
    explicit PathCounters(const std::vector<std::string>& prefixes);
    ~PathCounters();
    PathCounters(const PathCounters&) = delete;
    PathCounters& operator=(const PathCounters&) = delete;

    /// Forgets what was counted so far.
    void clear();
    /// Counts from here ...
    void resume();
    /// ... to here, and adds it up.
    void pause();
    /// The way used most since clear(), counted over all ranks; several, joined by '+', when they
    /// are within a tenth of each other. Collective over `comm`; all ranks get the same text.
    std::string most_used(MPI_Comm comm) const;

 private:
    struct Counter {
        std::size_t prefix;  ///< index into the constructor's list
        std::string name;
        MPI_T_pvar_handle handle;
        unsigned long long before = 0;
        unsigned long long used = 0;
    };
    void add(int index, const std::vector<std::string>& prefixes);
    unsigned long long read(const Counter& counter) const;

    MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
    std::vector<Counter> counters_;
};

}  // namespace beeline::bench
