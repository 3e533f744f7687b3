// SPDX-License-Identifier: BSD-3-Clause
// Loads libcuda.so.1 and looks its entry points up by their exported names.
#include "tests/conformance/driver.hpp"

#include <dlfcn.h>

#include <cstring>

#define CONFORMANCE_STRING_OF(text) #text
#define CONFORMANCE_STRING(text) CONFORMANCE_STRING_OF(text)

namespace conformance {

Driver cu;

const char* load_driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        return dlerror();
    }
    // The header maps plain names to exported ones (cuMemAlloc to cuMemAlloc_v2): expand first.
#define X(entry)                                                 \
    {                                                            \
        void* found = dlsym(library, CONFORMANCE_STRING(entry)); \
        std::memcpy(&cu.entry.function, &found, sizeof found);   \
        cu.entry.name = CONFORMANCE_STRING(entry);               \
    }
#include "tests/conformance/driver_entries.def"
#undef X
    return nullptr;
}

}  // namespace conformance
