// SPDX-License-Identifier: BSD-3-Clause
// Entries under their oldest exported names, which the current header no longer reaches.
#pragma once

#include "softcuda/driver/driver.hpp"

namespace softcuda {

/** cuGetProcAddress without a status, as CUDA 11.3 to 11.8 call it. */
CUresult legacy_get_proc_address(const char* symbol, void** address, int version, cuuint64_t flags);

/** cuMemAdvise with a device instead of a location, as CUDA 8 to 12 call it. */
CUresult legacy_mem_advise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device);

/** cuMemPrefetchAsync with a device instead of a location, as CUDA 8 to 12 call it. */
CUresult legacy_mem_prefetch_async(CUdeviceptr address, size_t count, CUdevice device,
                                   CUstream stream);

/** What cuGetProcAddress does after the edge. */
CUresult look_up(const char* symbol, void** address, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status);

/** What cuMemAdvise and cuMemPrefetchAsync do after the edge. */
CUresult advise(CUdeviceptr address, size_t count, CUmem_advise advice,
                const CUmemLocation& location);
CUresult prefetch(CUdeviceptr address, size_t count, const CUmemLocation& location, unsigned flags,
                  CUstream stream);

}  // namespace softcuda
