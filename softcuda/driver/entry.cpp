// SPDX-License-Identifier: BSD-3-Clause
// cuGetProcAddress: entries by name and version.
#include <cstdio>
#include <cstring>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/driver.hpp"
#include "softcuda/driver/legacy.hpp"

namespace softcuda {
namespace {

/** One revision of an entry. */
struct Revision {
    const char* name;
    int since;  // first CUDA version that asks for this revision
    void* address;
};

/** All revisions; those of one name in ascending order. */
struct Revisions {
    const Revision* first;
    const Revision* last;
};

Revisions revisions() {
    static const Revision table[] = {
        {"cuCtxCreate", 3020, reinterpret_cast<void*>(&cuCtxCreate_v2)},
        {"cuCtxCreate", 11040, reinterpret_cast<void*>(&cuCtxCreate_v3)},
        {"cuMemAdvise", 8000, reinterpret_cast<void*>(&legacy_mem_advise)},
        {"cuMemPrefetchAsync", 8000, reinterpret_cast<void*>(&legacy_mem_prefetch_async)},
        {"cuGetProcAddress", 11030, reinterpret_cast<void*>(&legacy_get_proc_address)},
#define SOFTCUDA_ENTRY(name, since) {"cu" #name, since, reinterpret_cast<void*>(&cu##name)},
#include "softcuda/driver/entries.def"
#undef SOFTCUDA_ENTRY
    };
    return {table, table + sizeof table / sizeof *table};
}

/** The newest revision not newer than `version`. *exists: whether the name is known at all. */
const Revision* find(const char* name, int version, bool* exists) {
    const Revision* best = nullptr;
    const Revisions all = revisions();
    *exists = false;
    for (const Revision* each = all.first; each != all.last; ++each) {
        if (std::strcmp(each->name, name) == 0) {
            *exists = true;
            if (each->since <= version && (best == nullptr || best->since <= each->since)) {
                best = each;
            }
        }
    }
    return best;
}

}  // namespace

CUresult look_up(const char* symbol, void** address, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
    if (symbol == nullptr || address == nullptr || version < 2000 || version / 1000 > 13 ||
        flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
        return CUDA_ERROR_NOT_SUPPORTED;  // there are no variants that change the default stream
    }
    bool exists = false;
    const Revision* found = find(symbol, version, &exists);
    *address = found != nullptr ? found->address : nullptr;
    CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SUCCESS;
    if (found == nullptr) {
        answer = exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        if (config().log) {
            std::fprintf(stderr, "SoftCUDA: cuGetProcAddress(\"%s\", %d): %s\n", symbol, version,
                         exists ? "no revision that old" : "no such entry");
        }
    }
    if (status != nullptr) {
        *status = answer;
    }
    return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* symbolStatus) {
    return call(Entry::kGetProcAddress, Needs::kNothing,
                [&] { return look_up(symbol, pfn, cudaVersion, flags, symbolStatus); });
}
