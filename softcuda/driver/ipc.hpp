// SPDX-License-Identifier: BSD-3-Clause
// Device memory of other processes.
#pragma once

#include <cstdint>

#include "softcuda/driver/memory.hpp"

namespace softcuda {

/** How a process names an allocation to another one: the content of CUipcMemHandle and of
 *  CUmemPoolPtrExportData. */
struct SharedAllocation {
    uint32_t magic;
    int32_t pid;
    int32_t fd;        // of the segment, in the exporter
    int32_t physical;  // device
    uint64_t segment_generation;
    uint64_t generation;
    uint64_t address;  // in the exporter
    uint64_t size;
    uint64_t offset;  // in the segment
    uint64_t pool;    // generation of the pool it comes from, 0: cuMemAlloc
};
static_assert(sizeof(SharedAllocation) == sizeof(CUipcMemHandle));

/** Describes an allocation of this process; memory_mutex is held. */
SharedAllocation share(const Allocation& allocation, uint64_t pool);

/** Maps what another process shared. Opening the same allocation again gives the same address. */
CUresult open_import(const SharedAllocation& shared, CUctx_st* owner, CUmemoryPool pool,
                     uint64_t* address);

/** Closes one opening of the imported allocation at `address`, or all of them; memory_mutex is
 *  held. */
void close_import(uint64_t address, bool all);

}  // namespace softcuda
