// SPDX-License-Identifier: BSD-3-Clause
// Counts of driver calls and of live objects, for tests and for the report at exit.
#pragma once

#include <atomic>
#include <cstdint>

#include "softcuda/driver/driver.hpp"

namespace softcuda {

/** Objects alive now, and what was noticed. Constant-initialised: usable at any time. */
struct Ledger {
    std::atomic<uint64_t> calls[kEntryCount];
    std::atomic<uint64_t> errors[kEntryCount];  // calls refused, CUDA_ERROR_NOT_READY aside
    std::atomic<int64_t> device_allocations;
    std::atomic<int64_t> host_allocations;
    std::atomic<int64_t> managed_allocations;
    std::atomic<int64_t> registrations;
    std::atomic<int64_t> ipc_handles;
    std::atomic<int64_t> streams;
    std::atomic<int64_t> events;
    std::atomic<int64_t> modules;
    std::atomic<int64_t> contexts;
    std::atomic<uint64_t> contexts_created;
    std::atomic<uint64_t> violations;
};
extern Ledger ledger;

/** "cuMemAlloc" for Entry::kMemAlloc. */
const char* entry_name(Entry entry) noexcept;

/** Index of the entry called `name`, -1 if there is none. */
int entry_by_name(const char* name) noexcept;

/** Result code given as a number or by its CUDA name; -1 if neither. */
int error_by_text(const char* text) noexcept;

/** Sets all counts to zero: in a forked child, whose calls are its own. */
void ledger_reset() noexcept;

}  // namespace softcuda
