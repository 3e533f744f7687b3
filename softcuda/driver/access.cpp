// SPDX-License-Identifier: BSD-3-Clause
// Range checks of copies and fills.
#include "softcuda/driver/access.hpp"

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/memory.hpp"
#include "softcuda/driver/vmm.hpp"

namespace softcuda {
namespace {

MemoryPlace place_of(const Allocation& allocation) {
    switch (allocation.kind) {
        case MemoryKind::kDevice:
        case MemoryKind::kPool:
        case MemoryKind::kMapped:
        case MemoryKind::kImported:
            return MemoryPlace::kDevice;
        case MemoryKind::kManaged:
            return MemoryPlace::kManaged;
        case MemoryKind::kHost:
        case MemoryKind::kRegistered:
            break;
    }
    return MemoryPlace::kPinned;
}

/** Mappings lie side by side in one reservation, so a range may span several. */
Access check_mapped(const CUctx_st& context, uint64_t address, uint64_t size, bool write) {
    const uint32_t bit = 1U << context.device->physical;
    const uint64_t end = address + size;
    int physical = -1;
    while (address < end) {
        const Allocation* found = find_allocation(address);
        if (found == nullptr || found->kind != MemoryKind::kMapped ||
            ((write ? found->writable : found->readable) & bit) == 0) {
            return {CUDA_ERROR_ILLEGAL_ADDRESS, MemoryPlace::kDevice, physical};
        }
        physical = found->device->physical;
        address = found->address + found->size;
    }
    return {CUDA_SUCCESS, MemoryPlace::kDevice, physical};
}

}  // namespace

Access check_access(const CUctx_st& context, uint64_t address, uint64_t size, bool write) {
    if (size == 0) {
        return {CUDA_SUCCESS, MemoryPlace::kPinned, -1};
    }
    const std::lock_guard lock(memory_mutex());
    const Allocation* found = find_allocation(address);
    if (found == nullptr && !in_arena(address)) {
        const bool valid = address >= 4096 && address + size >= address;
        return {valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, MemoryPlace::kPageable, -1};
    }
    if (is_reserved(address, size)) {
        return check_mapped(context, address, size, write);
    }
    if (found == nullptr) {
        return {CUDA_ERROR_INVALID_VALUE, MemoryPlace::kDevice, -1};
    }
    const MemoryPlace place = place_of(*found);
    if (size > found->address + found->size - address) {
        // Registered host memory is part of a larger pageable range; everything else ends here.
        return {found->kind == MemoryKind::kRegistered ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
                MemoryPlace::kPageable, -1};
    }
    return {CUDA_SUCCESS, place, place == MemoryPlace::kPinned ? -1 : found->device->physical,
            found->sync_memops};
}

}  // namespace softcuda
