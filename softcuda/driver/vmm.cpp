// SPDX-License-Identifier: BSD-3-Clause
// cuMem*: physical memory, address ranges, mappings and access rights.
#include "softcuda/driver/vmm.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/held.hpp"
#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

constexpr uint64_t kPhysicalMagic = 0x53435048593030;  // "SCPHY00"

/** Written behind the data of every physical allocation, so that an imported descriptor can be
 *  recognised. */
struct PhysicalTail {
    Users importers;
    uint64_t magic;
    uint64_t size;
    CUmemAllocationProp prop;
    int32_t physical;
};
constexpr uint64_t kTailPage = 4096;
static_assert(sizeof(PhysicalTail) <= kTailPage);

/** Memory of cuMemCreate: one memfd. */
struct Physical {
    int fd;
    uint64_t size;
    CUmemAllocationProp prop;
    Device* device;
    int handles;   // cuMemCreate, cuMemImport..., cuMemRetainAllocationHandle
    int mappings;  // cuMemMap
    bool imported;
    PhysicalTail* tail;  // mapped
};

struct Vmm {
    std::map<uint64_t, uint64_t> reserved;   // address, size
    std::map<uint64_t, Physical*> physical;  // by handle
    uint64_t last_handle = 0x5c00000000000000;
};

/** Guarded by memory_mutex. */
Vmm& vmm() {
    static Vmm& instance = *new Vmm;
    return instance;
}

CUresult check_prop(const CUmemAllocationProp* prop) {
    constexpr unsigned kKnownTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((unsigned{prop->requestedHandleTypes} & ~kKnownTypes) != 0 ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return device(prop->location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

Physical* find_physical(CUmemGenericAllocationHandle handle) {
    const auto found = vmm().physical.find(handle);
    return found != vmm().physical.end() && found->second->handles > 0 ? found->second : nullptr;
}

/** Frees physical memory nobody refers to any more. */
void drop_if_unused(uint64_t handle) {
    Physical* physical = vmm().physical.at(handle);
    if (physical->handles > 0 || physical->mappings > 0) {
        return;
    }
    PhysicalTail* tail = physical->tail;
    if (physical->imported) {
        tail->importers.count.fetch_sub(1);
        munmap(tail, kTailPage);
    } else {
        hold(*physical->device, physical->size, tail->importers, tail, kTailPage);
        reclaim();
        ledger.device_allocations.fetch_sub(1);
    }
    close(physical->fd);
    vmm().physical.erase(handle);
    delete physical;
}

uint64_t add_physical(const Physical& physical) {
    const uint64_t handle = ++vmm().last_handle;
    vmm().physical[handle] = new Physical(physical);
    return handle;
}

PhysicalTail* map_tail(int fd, uint64_t size) {
    void* tail =
        mmap(nullptr, kTailPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(size));
    return tail != MAP_FAILED ? static_cast<PhysicalTail*>(tail) : nullptr;
}

CUresult create(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp& prop) {
    Device& owner = *device(prop.location.id);
    if (!charge(owner, size)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const int fd = memfd_create("softcuda-physical", MFD_CLOEXEC);
    PhysicalTail* tail = nullptr;
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(size + kTailPage)) != 0 ||
        (tail = map_tail(fd, size)) == nullptr) {
        refund(owner, size);
        if (fd >= 0) {
            close(fd);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    tail->magic = kPhysicalMagic;
    tail->size = size;
    tail->prop = prop;
    tail->physical = owner.physical;
    const std::lock_guard lock(memory_mutex());
    *out = add_physical({fd, size, prop, &owner, 1, 0, false, tail});
    ledger.device_allocations.fetch_add(1);
    return CUDA_SUCCESS;
}

/** The reservation that holds all of the range, as its start; 0 if there is none. */
uint64_t reservation_of(uint64_t address, uint64_t size) {
    auto after = vmm().reserved.upper_bound(address);
    if (after == vmm().reserved.begin()) {
        return 0;
    }
    --after;
    return size <= after->second && address - after->first <= after->second - size ? after->first
                                                                                   : 0;
}

CUresult map(uint64_t address, size_t size, uint64_t handle) {
    const std::lock_guard lock(memory_mutex());
    Physical* physical = find_physical(handle);
    if (physical == nullptr || size != physical->size || reservation_of(address, size) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (overlaps_allocation(address, size)) {
        return CUDA_ERROR_ALREADY_MAPPED;
    }
    if (!arena_map(address, size, physical->fd, 0)) {
        return CUDA_ERROR_MAP_FAILED;
    }
    Allocation allocation;
    allocation.address = address;
    allocation.size = size;
    allocation.occupied = size;
    allocation.kind = MemoryKind::kMapped;
    allocation.device = physical->device;
    allocation.handle_types = physical->prop.requestedHandleTypes;
    allocation.mapped_handle = handle;
    allocation.rdma_asked = physical->prop.allocFlags.gpuDirectRDMACapable != 0;
    add_allocation(allocation);
    ++physical->mappings;
    return CUDA_SUCCESS;
}

/** Calls `visit` with each mapping in the range, which must hold nothing else. */
template <class Visit>
CUresult for_each_mapping(uint64_t address, size_t size, Visit visit) {
    const uint64_t end = address + size;
    for (uint64_t at = address; at < end;) {
        Allocation* found = find_allocation(at);
        if (found == nullptr || found->kind != MemoryKind::kMapped || found->address != at ||
            found->size > end - at) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        at += found->size;
    }
    for (uint64_t at = address; at < end;) {
        Allocation& found = *find_allocation(at);
        at += found.size;
        visit(found);
    }
    return CUDA_SUCCESS;
}

CUresult set_access(uint64_t address, size_t size, const CUmemAccessDesc& desc) {
    const Device* to =
        desc.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device(desc.location.id) : nullptr;
    if (to == nullptr) {
        return desc.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                                 : CUDA_ERROR_NOT_SUPPORTED;
    }
    const bool read = (desc.flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0;
    const bool write = desc.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const uint32_t bit = 1U << to->physical;
    bool reachable = true;
    const CUresult result = for_each_mapping(address, size, [&](Allocation& mapping) {
        const int home = mapping.device->physical;
        if (home != to->physical && !can_access_peer(to->physical, home)) {
            reachable = false;
            return;
        }
        mapping.readable = read ? mapping.readable | bit : mapping.readable & ~bit;
        mapping.writable = write ? mapping.writable | bit : mapping.writable & ~bit;
    });
    return result == CUDA_SUCCESS && !reachable ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : result;
}

CUresult import_fd(CUmemGenericAllocationHandle* out, int given) {
    const off_t end = lseek(given, 0, SEEK_END);
    if (end <= static_cast<off_t>(kTailPage) || end % static_cast<off_t>(kTailPage) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const uint64_t size = static_cast<uint64_t>(end) - kTailPage;
    PhysicalTail* tail = map_tail(given, size);
    if (tail == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool sound = tail->magic == kPhysicalMagic && tail->size == size;
    Device* home = sound ? device_by_physical(tail->physical) : nullptr;
    const int fd = home != nullptr ? fcntl(given, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0) {
        munmap(tail, kTailPage);
        return !sound            ? CUDA_ERROR_INVALID_VALUE
               : home == nullptr ? CUDA_ERROR_INVALID_DEVICE
                                 : CUDA_ERROR_OPERATING_SYSTEM;
    }
    tail->importers.add(getpid());
    CUmemAllocationProp prop = tail->prop;
    prop.location.id = home->ordinal;
    const std::lock_guard lock(memory_mutex());
    *out = add_physical({fd, size, prop, home, 1, 0, true, tail});
    return CUDA_SUCCESS;
}

bool aligned(uint64_t value) {
    return value != 0 && value % kSegmentUnit == 0;
}

}  // namespace

bool is_reserved(uint64_t address, uint64_t size) {
    (void)size;
    return reservation_of(address, 1) != 0;
}

bool find_reservation(uint64_t address, uint64_t* start, uint64_t* size) {
    const uint64_t found = reservation_of(address, 1);
    if (found == 0) {
        return false;
    }
    *start = found;
    *size = vmm().reserved.at(found);
    return true;
}

unsigned access_flags(const Allocation& allocation) {
    if (allocation.kind != MemoryKind::kMapped) {
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    const CUctx_st* context = current_context();
    const uint32_t bit = 1U << (context != nullptr ? context->device : allocation.device)->physical;
    return ((allocation.readable & bit) != 0 ? unsigned{CU_MEM_ACCESS_FLAGS_PROT_READ} : 0U) |
           ((allocation.writable & bit) != 0 ? unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE} : 0U);
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
    return call(Entry::kMemGetAllocationGranularity, Needs::kDriver, [&] {
        if (granularity == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                       option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_prop(prop);
        if (result == CUDA_SUCCESS) {
            *granularity = kSegmentUnit;
        }
        return result;
    });
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
    return call(Entry::kMemAddressReserve, Needs::kDriver, [&] {
        if (ptr == nullptr || !aligned(size) || (alignment & (alignment - 1)) != 0 || flags != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        uint64_t address = addr;  // a wish, granted when possible
        if (address == 0 || (alignment != 0 && address % alignment != 0) ||
            !arena_take_at(address, size)) {
            address = arena_take(size, alignment);
        }
        if (address == 0) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        const std::lock_guard lock(memory_mutex());
        vmm().reserved[address] = size;
        *ptr = address;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    return call(Entry::kMemAddressFree, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        const auto found = vmm().reserved.find(ptr);
        if (found == vmm().reserved.end() || found->second != size ||
            overlaps_allocation(ptr, size)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        vmm().reserved.erase(found);
        arena_give(ptr, size);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
    return call(Entry::kMemCreate, Needs::kDriver, [&] {
        if (handle == nullptr || !aligned(size) || flags != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_prop(prop);
        return result == CUDA_SUCCESS ? create(handle, size, *prop) : result;
    });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return call(Entry::kMemRelease, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        Physical* physical = find_physical(handle);
        if (physical == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        --physical->handles;
        drop_if_unused(handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    return call(Entry::kMemMap, Needs::kDriver, [&] {
        return offset != 0 || flags != 0 || !aligned(ptr) || !aligned(size)
                   ? CUDA_ERROR_INVALID_VALUE
                   : map(ptr, size, handle);
    });
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    return call(Entry::kMemUnmap, Needs::kDriver, [&] {
        for (int i = 0; i < device_count(); ++i) {
            drain_device(*device(i));  // work in flight may use the mapping
        }
        const std::lock_guard lock(memory_mutex());
        return for_each_mapping(ptr, size, [](Allocation& mapping) {
            const uint64_t handle = mapping.mapped_handle;
            arena_unmap(mapping.address, mapping.size);
            remove_allocation(mapping.address);
            --vmm().physical.at(handle)->mappings;
            drop_if_unused(handle);
        });
    });
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
    return call(Entry::kMemSetAccess, Needs::kDriver, [&] {
        if (desc == nullptr || count == 0 || !aligned(size)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(memory_mutex());
        CUresult result = CUDA_SUCCESS;
        for (size_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
            result = set_access(ptr, size, desc[i]);
        }
        return result;
    });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
    return call(Entry::kMemGetAccess, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(ptr);
        if (flags == nullptr || location == nullptr || found == nullptr ||
            found->kind != MemoryKind::kMapped || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
            device(location->id) == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const uint32_t bit = 1U << device(location->id)->physical;
        *flags = (found->writable & bit) != 0   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : (found->readable & bit) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
    return call(Entry::kMemExportToShareableHandle, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        const Physical* physical = find_physical(handle);
        if (shareableHandle == nullptr || physical == nullptr || flags != 0 ||
            handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
            physical->prop.requestedHandleTypes != handleType) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            return CUDA_ERROR_OPERATING_SYSTEM;
        }
        std::memcpy(shareableHandle, &fd, sizeof fd);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
    return call(Entry::kMemImportFromShareableHandle, Needs::kDriver, [&] {
        if (handle == nullptr || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return import_fd(handle, static_cast<int>(reinterpret_cast<intptr_t>(osHandle)));
    });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
    return call(Entry::kMemGetAllocationPropertiesFromHandle, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        const Physical* physical = find_physical(handle);
        if (prop == nullptr || physical == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *prop = physical->prop;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
    return call(Entry::kMemRetainAllocationHandle, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(reinterpret_cast<uint64_t>(addr));
        if (handle == nullptr || found == nullptr || found->kind != MemoryKind::kMapped) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        ++vmm().physical.at(found->mapped_handle)->handles;
        *handle = found->mapped_handle;
        return CUDA_SUCCESS;
    });
}
