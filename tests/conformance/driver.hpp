// SPDX-License-Identifier: BSD-3-Clause
// The driver under test, found at run time: whichever libcuda.so.1 the loader finds, so one binary
// tests SoftCUDA and a real driver alike.
#pragma once

#include <cuda.h>

namespace conformance {

/// Ends the running case as skipped because the driver lacks `name`.
[[noreturn]] void skip_missing(const char* name);

template <class Function>
struct Entry;

/// One entry point; calling one that the driver lacks skips the case.
template <class... Arguments>
struct Entry<CUresult (*)(Arguments...)> {
    CUresult (*function)(Arguments...) = nullptr;
    const char* name = "";

    CUresult operator()(Arguments... arguments) const {
        if (function == nullptr) {
            skip_missing(name);
        }
        return function(arguments...);
    }
};

struct Driver {
#define X(entry) Entry<decltype(&::entry)> entry;
#include "tests/conformance/driver_entries.def"
#undef X
};

/// The table; empty until load_driver.
extern Driver cu;

/// Loads libcuda.so.1 and fills the table. Returns null, or the loader's message.
const char* load_driver();

}  // namespace conformance
