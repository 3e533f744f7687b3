// SPDX-License-Identifier: BSD-3-Clause
// Exporting and importing device memory between processes.
#include "softcuda/driver/ipc.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

constexpr uint32_t kShareMagic = 0x5343494d;  // "SCIM"

/** A mapped segment of another process, shared by the openings of allocations in it. */
struct ForeignSegment {
    Segment* segment;
    uint64_t generation;
    int openings;  // distinct allocations
};

/** One open allocation. */
struct Import {
    SharedAllocation shared;
    uint64_t address;  // here
    CUctx_st* owner;
    int refs;
    ForeignSegment* foreign;
};

struct Imports {
    std::vector<ForeignSegment*> segments;
    std::vector<Import> open;
};

/** Guarded by memory_mutex. */
Imports& imports() {
    static Imports& instance = *new Imports;
    return instance;
}

Import* find_open(const SharedAllocation& shared) {
    for (Import& import : imports().open) {
        if (import.shared.pid == shared.pid && import.shared.generation == shared.generation) {
            return &import;
        }
    }
    return nullptr;
}

/** What a driver refuses: the exporter freed and reallocated this range while we still have the old
 *  one open; or a second context of the device wants memory of the same exporter. */
CUresult check_conflicts(const SharedAllocation& shared, const CUctx_st* owner) {
    for (const Import& import : imports().open) {
        if (import.shared.pid != shared.pid) {
            continue;
        }
        const bool overlap = shared.address < import.shared.address + import.shared.size &&
                             import.shared.address < shared.address + shared.size;
        if (overlap && import.shared.generation != shared.generation) {
            return CUDA_ERROR_ALREADY_MAPPED;
        }
        if (owner != nullptr && import.owner != nullptr && import.owner != owner &&
            import.owner->device == owner->device && import.shared.physical == shared.physical) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
    }
    return CUDA_SUCCESS;
}

/** The mapping of the segment the allocation lies in, made if there is none yet. */
ForeignSegment* map_foreign(const SharedAllocation& shared) {
    for (ForeignSegment* foreign : imports().segments) {
        if (foreign->generation == shared.segment_generation) {
            return foreign;
        }
    }
    const int fd = open_peer_fd(shared.pid, shared.fd);
    Segment* segment = fd >= 0 ? open_segment(fd) : nullptr;
    if (segment == nullptr) {
        return nullptr;
    }
    if (segment->control->generation != shared.segment_generation) {
        drop_segment(segment);  // the descriptor number was used again
        return nullptr;
    }
    imports().segments.push_back(new ForeignSegment{segment, shared.segment_generation, 0});
    return imports().segments.back();
}

void unmap_if_unused(ForeignSegment* foreign) {
    if (foreign->openings == 0) {
        drop_segment(foreign->segment);
        std::erase(imports().segments, foreign);
        delete foreign;
    }
}

bool lies_inside(const SharedAllocation& shared, const Segment& segment) {
    return shared.size != 0 && shared.offset % kSmallUnit == 0 && shared.offset < segment.size &&
           shared.size <= segment.size - shared.offset &&
           (segment.control->slots > 1 || shared.offset == 0);
}

/** Adds the opened allocation to the table and to the list of imports. */
uint64_t add_import(const SharedAllocation& shared, CUctx_st* owner, CUmemoryPool pool,
                    ForeignSegment* foreign, Device* device) {
    Allocation allocation;
    allocation.address = foreign->segment->address + shared.offset;
    allocation.size = shared.size;
    allocation.kind = MemoryKind::kImported;
    allocation.context = owner;
    allocation.device = device;
    allocation.segment = foreign->segment;
    allocation.pool = pool;
    allocation.generation = shared.generation;
    add_allocation(allocation);
    foreign->segment->slot(shared.offset).users.add(getpid());
    ++foreign->openings;
    imports().open.push_back({shared, allocation.address, owner, 1, foreign});
    ledger.ipc_handles.fetch_add(1);
    return allocation.address;
}

}  // namespace

SharedAllocation share(const Allocation& allocation, uint64_t pool) {
    const Segment& segment = *allocation.segment;
    return {kShareMagic,
            getpid(),
            segment.fd,
            segment.physical,
            segment.control->generation,
            allocation.generation,
            allocation.address,
            allocation.size,
            allocation.address - segment.address,
            pool};
}

CUresult open_import(const SharedAllocation& shared, CUctx_st* owner, CUmemoryPool pool,
                     uint64_t* address) {
    if (shared.magic != kShareMagic || (shared.pool != 0) != (pool != nullptr)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (shared.pid == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (config().ipc_visible_only && device_by_physical(shared.physical) == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Device* own = current_context()->device;
    if (shared.physical != own->physical && !can_access_peer(own->physical, shared.physical)) {
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    const std::lock_guard lock(memory_mutex());
    if (const CUresult result = check_conflicts(shared, owner); result != CUDA_SUCCESS) {
        return result;
    }
    if (Import* import = find_open(shared)) {
        ++import->refs;
        *address = import->address;
        return CUDA_SUCCESS;
    }
    ForeignSegment* foreign = map_foreign(shared);
    if (foreign == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!lies_inside(shared, *foreign->segment) ||
        foreign->segment->slot(shared.offset).generation != shared.generation) {
        unmap_if_unused(foreign);
        return CUDA_ERROR_INVALID_VALUE;  // freed since the handle was made
    }
    Device* device = device_by_physical(shared.physical);
    *address = add_import(shared, owner, pool, foreign, device != nullptr ? device : own);
    if (config().ipc_leaks) {
        fcntl(foreign->segment->fd, F_DUPFD_CLOEXEC, 0);
    }
    return CUDA_SUCCESS;
}

void close_import(uint64_t address, bool all) {
    std::vector<Import>& open = imports().open;
    for (size_t i = 0; i < open.size(); ++i) {
        if (open[i].address != address) {
            continue;
        }
        if (!all && --open[i].refs > 0) {
            return;
        }
        const Import import = open[i];
        open.erase(open.begin() + static_cast<ptrdiff_t>(i));
        SegmentSlot& slot = import.foreign->segment->slot(import.shared.offset);
        // A large allocation has its segment for itself: nothing takes its slot.
        if (slot.generation == import.shared.generation ||
            import.foreign->segment->control->slots == 1) {
            slot.users.count.fetch_sub(1);
        }
        remove_allocation(address);
        --import.foreign->openings;
        unmap_if_unused(import.foreign);
        ledger.ipc_handles.fetch_sub(1);
        return;
    }
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
    return call(Entry::kIpcGetMemHandle, Needs::kContext, [&] {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(dptr);
        if (pHandle == nullptr || found == nullptr ||
            (config().ipc_base_only && found->address != dptr)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (config().ipc_hollow && found->kind == MemoryKind::kMapped) {
            std::memset(pHandle, 0, sizeof *pHandle);
            return CUDA_SUCCESS;
        }
        if (found->kind != MemoryKind::kDevice) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const SharedAllocation shared = share(*found, 0);
        std::memcpy(pHandle, &shared, sizeof shared);
        return CUDA_SUCCESS;
    });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
    return call(Entry::kIpcOpenMemHandle, Needs::kContext, [&] {
        if (pdptr == nullptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        SharedAllocation shared;
        std::memcpy(&shared, &handle, sizeof shared);
        uint64_t address = 0;
        const CUresult result = open_import(shared, current_context(), nullptr, &address);
        if (result == CUDA_SUCCESS) {
            *pdptr = address;
        }
        return result;
    });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
    return call(Entry::kIpcCloseMemHandle, Needs::kContext, [&] {
        Device* device = nullptr;
        {
            const std::lock_guard lock(memory_mutex());
            const Allocation* found = find_allocation(dptr);
            if (found == nullptr || found->address != dptr ||
                found->kind != MemoryKind::kImported || found->pool != nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            device = found->context->device;
        }
        drain_device(*device);
        const std::lock_guard lock(memory_mutex());
        close_import(dptr, false);
        return CUDA_SUCCESS;
    });
}
