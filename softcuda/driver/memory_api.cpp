// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of device memory.
#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/held.hpp"
#include "softcuda/driver/host_memory.hpp"
#include "softcuda/driver/ipc.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/memory.hpp"

using namespace softcuda;

CUresult cuMemGetInfo(size_t* free, size_t* total) {
    return call(Entry::kMemGetInfo, Needs::kContext, [&] {
        if (free == nullptr || total == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        reclaim();
        *total = config().memory;
        *free = config().memory - std::min(config().memory, current_context()->device->used.load());
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAlloc(CUdeviceptr* dptr, size_t bytesize) {
    return call(Entry::kMemAlloc, Needs::kNoCapture, [&] {
        if (dptr == nullptr || bytesize == 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        CUctx_st& context = *current_context();
        uint64_t address = 0;
        const CUresult result = allocate_device(*context.device, &context, MemoryKind::kDevice,
                                                bytesize, nullptr, &address);
        if (result == CUDA_SUCCESS) {
            *dptr = address;
        }
        return result;
    });
}

CUresult cuMemAllocPitch(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                         unsigned int ElementSizeBytes) {
    return call(Entry::kMemAllocPitch, Needs::kNoCapture, [&] {
        const bool element =
            ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
        if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0 || !element ||
            WidthInBytes > config().memory || Height > config().memory / WidthInBytes) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        CUctx_st& context = *current_context();
        const uint64_t pitch = round_up(WidthInBytes, kSmallUnit);
        uint64_t address = 0;
        const CUresult result = allocate_device(*context.device, &context, MemoryKind::kDevice,
                                                pitch * Height, nullptr, &address);
        if (result == CUDA_SUCCESS) {
            *dptr = address;
            *pPitch = pitch;
        }
        return result;
    });
}

CUresult cuMemFree(CUdeviceptr dptr) {
    return call(Entry::kMemFree, Needs::kNoCapture, [&] {
        if (dptr == 0) {
            return CUDA_SUCCESS;
        }
        Device* device = nullptr;
        {
            const std::lock_guard lock(memory_mutex());
            const Allocation* found = find_allocation(dptr);
            if (found == nullptr || found->address != dptr || !found->is_device_memory() ||
                found->kind == MemoryKind::kMapped ||
                (found->kind == MemoryKind::kImported && found->pool == nullptr)) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            device = found->device;
        }
        drain_device(*device);  // freeing waits for work that may use the memory
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(dptr);
        if (found == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (found->kind == MemoryKind::kManaged) {
            free_host(dptr);
        } else if (found->kind == MemoryKind::kImported) {
            close_import(dptr, false);
        } else {
            free_device(dptr);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuMemGetAddressRange(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
    return call(Entry::kMemGetAddressRange, Needs::kContext, [&] {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(dptr);
        if (found == nullptr) {
            return CUDA_ERROR_NOT_FOUND;
        }
        if (pbase != nullptr) {
            *pbase = found->address;
        }
        if (psize != nullptr) {
            *psize = found->size;
        }
        return CUDA_SUCCESS;
    });
}
