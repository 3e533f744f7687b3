// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of page-locked and registered host memory.
#include "softcuda/driver/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

constexpr uint64_t kPage = 4096;
constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

uint64_t number(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

CUresult allocate_host(void** out, size_t size, unsigned flags) {
    if (out == nullptr || size == 0 || (flags & ~kAllocFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const uint64_t occupied = round_up(size, kPage);
    void* memory = occupied < size ? MAP_FAILED
                                   : mmap(nullptr, occupied, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Allocation allocation;
    allocation.address = number(memory);
    allocation.size = size;
    allocation.occupied = occupied;
    allocation.kind = MemoryKind::kHost;
    // With unified addressing every page-locked allocation is portable and mapped.
    allocation.flags = flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    allocation.context = current_context();
    allocation.device = current_context()->device;
    const std::lock_guard lock(memory_mutex());
    add_allocation(allocation);
    ledger.host_allocations.fetch_add(1);
    *out = memory;
    return CUDA_SUCCESS;
}

CUresult release_host(void* pointer, MemoryKind kind, CUresult unknown) {
    CUctx_st* owner = nullptr;
    {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(number(pointer));
        if (found == nullptr || found->kind != kind || found->address != number(pointer)) {
            return unknown;
        }
        owner = found->context;
    }
    drain_device(*owner->device);
    const std::lock_guard lock(memory_mutex());
    free_host(number(pointer));
    return CUDA_SUCCESS;
}

/** Whether all pages of the range are mapped. */
bool is_mapped(uint64_t address, size_t size) {
    const uint64_t start = address / kPage * kPage;
    const uint64_t length = round_up(address + size - start, kPage);
    std::vector<unsigned char> resident(length / kPage);
    return mincore(reinterpret_cast<void*>(start), length, resident.data()) == 0;
}

CUresult register_host(void* pointer, size_t size, unsigned flags) {
    const uint64_t address = number(pointer);
    if (pointer == nullptr || size == 0 || (flags & ~kRegisterFlags) != 0 || in_arena(address) ||
        address + size < address || !is_mapped(address, size)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const uint64_t start = address / kPage * kPage;
    const std::lock_guard lock(memory_mutex());
    if (overlaps_allocation(start, round_up(address + size - start, kPage))) {
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    Allocation allocation;
    allocation.address = address;
    allocation.size = size;
    allocation.occupied = size;
    allocation.kind = MemoryKind::kRegistered;
    allocation.flags = flags | CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    allocation.context = current_context();
    allocation.device = current_context()->device;
    add_allocation(allocation);
    ledger.registrations.fetch_add(1);
    return CUDA_SUCCESS;
}

/** Runs `body` with the host allocation that contains `pointer`. */
template <class Body>
CUresult with_host(const void* pointer, Body body) {
    const std::lock_guard lock(memory_mutex());
    const Allocation* found = find_allocation(number(pointer));
    if (found == nullptr || found->is_device_memory()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return body(*found);
}

}  // namespace

void free_host(uint64_t address) {
    const Allocation allocation = *find_allocation(address);
    remove_allocation(address);
    if (allocation.kind == MemoryKind::kRegistered) {
        ledger.registrations.fetch_sub(1);
        return;
    }
    munmap(reinterpret_cast<void*>(address), allocation.occupied);
    if (allocation.kind == MemoryKind::kManaged) {
        refund(*allocation.device, allocation.occupied);
        ledger.managed_allocations.fetch_sub(1);
    } else {
        ledger.host_allocations.fetch_sub(1);
    }
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuMemAllocHost(void** pp, size_t bytesize) {
    return call(Entry::kMemAllocHost, Needs::kNoCapture,
                [&] { return allocate_host(pp, bytesize, 0); });
}

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
    return call(Entry::kMemHostAlloc, Needs::kNoCapture,
                [&] { return allocate_host(pp, bytesize, Flags); });
}

CUresult cuMemFreeHost(void* p) {
    return call(Entry::kMemFreeHost, Needs::kNoCapture, [&] {
        return p == nullptr ? CUDA_SUCCESS
                            : release_host(p, MemoryKind::kHost, CUDA_ERROR_INVALID_VALUE);
    });
}

CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
    return call(Entry::kMemHostRegister, Needs::kNoCapture,
                [&] { return register_host(p, bytesize, Flags); });
}

CUresult cuMemHostUnregister(void* p) {
    return call(Entry::kMemHostUnregister, Needs::kNoCapture, [&] {
        return release_host(p, MemoryKind::kRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
    return call(Entry::kMemHostGetDevicePointer, Needs::kContext, [&] {
        if (pdptr == nullptr || Flags != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return with_host(p, [&](const Allocation&) {
            *pdptr = number(p);
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
    return call(Entry::kMemHostGetFlags, Needs::kContext, [&] {
        if (pFlags == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return with_host(p, [&](const Allocation& allocation) {
            *pFlags = allocation.flags;
            return CUDA_SUCCESS;
        });
    });
}
