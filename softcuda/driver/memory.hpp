// SPDX-License-Identifier: BSD-3-Clause
// Every piece of memory CUDA knows in this process, found by address.
#pragma once

#include <cstdint>
#include <mutex>

#include "softcuda/driver/context.hpp"
#include "softcuda/driver/device.hpp"
#include "softcuda/driver/segment.hpp"

namespace softcuda {

enum class MemoryKind {
    kDevice,      // cuMemAlloc
    kPool,        // cuMemAllocAsync
    kMapped,      // cuMemMap
    kImported,    // cuIpcOpenMemHandle, cuMemPoolImportPointer
    kManaged,     // cuMemAllocManaged
    kHost,        // cuMemHostAlloc
    kRegistered,  // cuMemHostRegister
};

/** One allocation, mapping or registration. */
struct Allocation {
    uint64_t address = 0;
    uint64_t size = 0;      // as asked for
    uint64_t occupied = 0;  // with rounding; what is charged to the device
    uint64_t buffer_id = 0;
    uint64_t generation = 0;
    MemoryKind kind = MemoryKind::kDevice;
    unsigned flags = 0;  // of host memory: what cuMemHostGetFlags tells
    bool sync_memops = false;
    CUctx_st* context = nullptr;  // owner; nullptr for kPool and kMapped
    Device* device = nullptr;
    Segment* segment = nullptr;  // kDevice, kPool, kImported
    CUmemoryPool pool = nullptr;
    uint64_t handle_types = 0;  // CU_MEM_HANDLE_TYPE_*
    uint32_t readable = 0;      // kMapped: bit for each physical device
    uint32_t writable = 0;
    uint64_t mapped_handle = 0;  // kMapped
    bool rdma_asked = false;     // kMapped: made with gpuDirectRDMACapable

    bool is_device_memory() const {
        return kind != MemoryKind::kHost && kind != MemoryKind::kRegistered;
    }
};

/** Guards the table of allocations and the small-allocation slabs. */
std::mutex& memory_mutex();

/** The buffer id at `address`, without a lock where the thread asked for the same allocation last
 *  and none has come or gone since; 0 where there is none. memory_mutex is not held. */
uint64_t buffer_id_of(uint64_t address);

/** The allocation that contains `address`, nullptr if there is none; memory_mutex is held. */
Allocation* find_allocation(uint64_t address);

/** Adds an allocation and gives it a buffer id; memory_mutex is held. */
Allocation& add_allocation(const Allocation& allocation);

/** Takes an allocation out of the table; memory_mutex is held. */
void remove_allocation(uint64_t address);

/** Whether any of [address, address + size) is known; memory_mutex is held. */
bool overlaps_allocation(uint64_t address, uint64_t size);

/** Allocates device memory of `kind` for `owner` (may be nullptr). */
CUresult allocate_device(Device& device, CUctx_st* owner, MemoryKind kind, uint64_t size,
                         CUmemoryPool pool, uint64_t* address);

/** Allocates managed memory, of `pool` if that is not nullptr. Freed by free_host. */
CUresult allocate_managed(Device& device, CUctx_st* owner, CUmemoryPool pool, uint64_t size,
                          uint64_t* address);

/** Frees what allocate_device made. Work that uses it must have ended. memory_mutex is held. */
void free_device(uint64_t address);

/** Bytes of the live allocations from `pool`; memory_mutex is held. */
uint64_t pool_bytes(CUmemoryPool pool);

/** Frees all that `context` owns. Its streams are idle. */
void free_memory_of(CUctx_st& context);

}  // namespace softcuda
