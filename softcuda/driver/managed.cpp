// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of managed memory, which host and devices use at the same address.
#include <sys/mman.h>

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/legacy.hpp"
#include "softcuda/driver/memory.hpp"

namespace softcuda {

CUresult allocate_managed(Device& device, CUctx_st* owner, CUmemoryPool pool, uint64_t size,
                          uint64_t* address) {
    constexpr uint64_t kPage = 4096;
    const uint64_t occupied = round_up(size, kPage);
    if (occupied < size || !charge(device, occupied)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void* memory = mmap(nullptr, occupied, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        refund(device, occupied);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Allocation allocation;
    allocation.address = reinterpret_cast<uint64_t>(memory);
    allocation.size = size;
    allocation.occupied = occupied;
    allocation.kind = MemoryKind::kManaged;
    allocation.context = owner;
    allocation.device = &device;
    allocation.pool = pool;
    const std::lock_guard lock(memory_mutex());
    add_allocation(allocation);
    ledger.managed_allocations.fetch_add(1);
    *address = allocation.address;
    return CUDA_SUCCESS;
}

namespace {

/** CUDA_SUCCESS if [address, address + count) is managed memory. */
CUresult check_managed(CUdeviceptr address, size_t count) {
    const std::lock_guard lock(memory_mutex());
    const Allocation* found = find_allocation(address);
    return found != nullptr && found->kind == MemoryKind::kManaged && count != 0 &&
                   count <= found->address + found->size - address
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_location(const CUmemLocation& location) {
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            return device(location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return CUDA_SUCCESS;
        case CU_MEM_LOCATION_TYPE_INVALID:
        case CU_MEM_LOCATION_TYPE_MAX:
            break;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult advise(CUdeviceptr address, size_t count, CUmem_advise advice,
                const CUmemLocation& location) {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool located = advice >= CU_MEM_ADVISE_SET_PREFERRED_LOCATION &&
                         advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    if (const CUresult result = located ? check_location(location) : CUDA_SUCCESS;
        result != CUDA_SUCCESS) {
        return result;
    }
    return check_managed(address, count);  // only advice: all memory is one place here
}

CUresult prefetch(CUdeviceptr address, size_t count, const CUmemLocation& location, unsigned flags,
                  CUstream handle) {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = resolve_stream(handle, &result);
    if (stream == nullptr || flags != 0) {
        return stream == nullptr ? result : CUDA_ERROR_INVALID_VALUE;
    }
    if (result = check_location(location); result != CUDA_SUCCESS) {
        return result;
    }
    if (result = check_managed(address, count); result != CUDA_SUCCESS) {
        return result;
    }
    bool captured = false;
    return capture_instead(*stream, &captured);
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
    return call(Entry::kMemAllocManaged, Needs::kNoCapture, [&] {
        if (dptr == nullptr || bytesize == 0 ||
            (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        CUctx_st* context = current_context();
        uint64_t address = 0;
        const CUresult result =
            allocate_managed(*context->device, context, nullptr, bytesize, &address);
        if (result == CUDA_SUCCESS) {
            *dptr = address;
        }
        return result;
    });
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                     CUmemLocation location) {
    return call(Entry::kMemAdvise, Needs::kContext,
                [&] { return advise(devPtr, count, advice, location); });
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                            unsigned int flags, CUstream hStream) {
    return call(Entry::kMemPrefetchAsync, Needs::kContext,
                [&] { return prefetch(devPtr, count, location, flags, hStream); });
}

CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
    return call(Entry::kMemRangeGetAttribute, Needs::kContext, [&] {
        if (data == nullptr || dataSize < sizeof(int)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (const CUresult result = check_managed(devPtr, count); result != CUDA_SUCCESS) {
            return result;
        }
        if (attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) {
            *static_cast<int*>(data) = 0;
            return CUDA_SUCCESS;
        }
        if (attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
            attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) {
            *static_cast<int*>(data) = CU_DEVICE_INVALID;
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_NOT_SUPPORTED;
    });
}
