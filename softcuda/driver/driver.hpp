// SPDX-License-Identifier: BSD-3-Clause
// The edge of the driver: every exported entry is counted, may be made to fail, and is checked for
// what it needs in one place.
#pragma once

// The declarations decide what is exported: everything else in the library is hidden.
#pragma GCC visibility push(default)
#include <cuda.h>
#include "softcuda/include/softcuda.h"
#pragma GCC visibility pop

#include <cstdint>
#include <new>

namespace softcuda {

/** One value for each line of entries.def. */
enum class Entry : int {
#define SOFTCUDA_ENTRY(name, since) k##name,
#include "softcuda/driver/entries.def"
#undef SOFTCUDA_ENTRY
};

/** Number of entries. */
inline constexpr int kEntryCount = 0
#define SOFTCUDA_ENTRY(name, since) +1
#include "softcuda/driver/entries.def"
#undef SOFTCUDA_ENTRY
    ;

/** What must hold before an entry's own work starts. */
enum class Needs {
    kNothing,   // may be called before cuInit
    kDriver,    // cuInit, and this process is not a fork of the one that called it
    kContext,   // also a live current context without a sticky error
    kNoCapture  // also no stream capture under way that the call would break
};

/** Counts the call, applies SOFTCUDA_FAULT, and checks `needs`. */
CUresult enter(Entry entry, Needs needs) noexcept;

/** Counts a call's error, for tests that allow none. */
[[gnu::cold]] CUresult refused(Entry entry, CUresult result) noexcept;

/** The frame of every exported entry: `body` returns a CUresult and runs only if `enter` agreed. No
 *  exception leaves. */
template <class Body>
CUresult call(Entry entry, Needs needs, Body&& body) noexcept {
    CUresult result = enter(entry, needs);
    if (result == CUDA_SUCCESS) {
        try {
            result = body();
        } catch (const std::bad_alloc&) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        } catch (...) {
            result = CUDA_ERROR_UNKNOWN;
        }
    }
    return result == CUDA_SUCCESS ? result : refused(entry, result);
}

/** How far the driver is in its life. */
enum class Phase : int { kNew, kReady, kForked, kDown };
Phase phase() noexcept;

/** What cuInit does beyond the checks at the edge. */
CUresult initialize() noexcept;

/** True while the calling thread runs a function given to cuLaunchHostFunc, which must not call the
 *  driver. */
bool& in_host_function() noexcept;

/** Host time in nanoseconds, monotonic. */
uint64_t now_ns() noexcept;

}  // namespace softcuda
