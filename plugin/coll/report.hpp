// SPDX-License-Identifier: BSD-3-Clause
// Counts of the collectives served, by entry point and by the way they took.
#pragma once

#include <cstdint>

#include "coll/plan/algorithm.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::coll {

/// Every entry point, in the order of entries.def.
enum class Entry : std::uint8_t {
#define BEELINE_ENTRY(name, family, form) k_##name,
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
    kCount,
};

enum class Way : std::uint8_t {
    kPassed,     ///< to the previous module, with the caller's own buffers
    kStaged,     ///< to the previous module, on host copies
    kScheduled,  ///< by a schedule of Beeline's own
    kCount,
};

/// The entry point's name without its framework, for example "iallreduce".
const char* to_string(Entry entry) noexcept;

/// Counts one call. Thread-safe.
void count_call(Entry entry, Way way) noexcept;

/// Counts one call that a schedule of this algorithm served. Thread-safe.
void count_schedule(Entry entry, const beeline::coll::plan::Algorithm& algorithm) noexcept;

/// Makes the sums known to MPI_T as coll_beeline_calls_<way>, and those of the algorithms as
/// coll_beeline_<collective>_<algorithm>.
void register_counters(const mca_base_component_t* owner) noexcept;

/// The same for the algorithms that files brought, once they are loaded.
void register_loaded_counters(const mca_base_component_t* owner) noexcept;

/// Prints what this process counted to stderr, one line for each entry point and each algorithm
/// that was used.
void print_report() noexcept;

}  // namespace beeline::plugin::coll
