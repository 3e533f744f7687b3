// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation from memory pools.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/host_memory.hpp"
#include "softcuda/driver/ipc.hpp"
#include "softcuda/driver/memory.hpp"

/** A pool. Memory is allocated when asked for and freed in stream order; nothing is kept back. */
struct CUmemPoolHandle_st {
    softcuda::Device* device;
    uint64_t generation;  // names the pool between processes
    unsigned handle_types;
    bool imported;
    bool is_default;
    bool managed;
    uint64_t release_threshold;
    int reuse[3];  // the three CU_MEMPOOL_ATTR_REUSE_* switches
};

namespace softcuda {
namespace {

constexpr uint64_t kPoolMagic = 0x5343504f4f4c3030;  // "SCPOOL00"

/** The content of an exported pool's descriptor. */
struct PoolFile {
    uint64_t magic;
    uint64_t generation;
    int32_t physical;
};

/** All pools; guarded by memory_mutex. */
std::vector<CUmemPoolHandle_st*>& pools() {
    static std::vector<CUmemPoolHandle_st*>& instance = *new std::vector<CUmemPoolHandle_st*>;
    return instance;
}

bool known(CUmemoryPool pool) {
    return std::find(pools().begin(), pools().end(), pool) != pools().end();
}

CUmemoryPool add_pool(Device& device, uint64_t generation, unsigned handle_types, bool imported) {
    pools().push_back(new CUmemPoolHandle_st{
        &device, generation, handle_types, imported, false, false, 0, {1, 1, 1}});
    return pools().back();
}

CUmemoryPool default_pool(Device& device) {
    if (device.default_pool == nullptr) {
        device.default_pool = add_pool(device, new_generation(), CU_MEM_HANDLE_TYPE_NONE, false);
        device.default_pool->is_default = true;
    }
    return device.default_pool;
}

CUmemoryPool current_pool(Device& device) {
    return device.current_pool != nullptr ? device.current_pool : default_pool(device);
}

CUresult allocate_async(CUdeviceptr* out, size_t size, CUmemoryPool pool, CUstream handle) {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = resolve_stream(handle, &result);
    if (stream == nullptr || out == nullptr || size == 0) {
        return stream == nullptr ? result : CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        return refuse_in_capture(*stream);  // a graph's own allocations do not exist here
    }
    unsigned handle_types = 0;
    {
        const std::lock_guard lock(memory_mutex());
        pool = pool != nullptr ? pool : current_pool(*stream->context->device);
        if (!known(pool) || pool->imported) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        handle_types = pool->handle_types;
    }
    uint64_t address = 0;
    result = pool->managed
                 ? allocate_managed(*pool->device, nullptr, pool, size, &address)
                 : allocate_device(*pool->device, nullptr, MemoryKind::kPool, size, pool, &address);
    if (result == CUDA_SUCCESS) {
        const std::lock_guard lock(memory_mutex());
        find_allocation(address)->handle_types = handle_types;
        *out = address;
    }
    return result;
}

/** Frees in stream order: the task runs when earlier work of the stream is done. */
CUresult free_async(CUdeviceptr address, CUstream handle) {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = resolve_stream(handle, &result);
    if (stream == nullptr) {
        return result;
    }
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        return refuse_in_capture(*stream);
    }
    {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(address);
        const bool ours =
            found != nullptr && found->address == address &&
            (found->kind == MemoryKind::kPool || found->kind == MemoryKind::kDevice ||
             ((found->kind == MemoryKind::kImported || found->kind == MemoryKind::kManaged) &&
              found->pool != nullptr));
        if (!ours) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    const auto release = [address] {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(address);
        if (found != nullptr && found->kind == MemoryKind::kImported) {
            close_import(address, false);
        } else if (found != nullptr && found->kind == MemoryKind::kManaged) {
            free_host(address);
        } else if (found != nullptr) {
            free_device(address);
        }
    };
    if (!run_inline(*stream, release)) {
        enqueue(*stream, release);
    }
    return CUDA_SUCCESS;
}

CUresult create_pool(CUmemoryPool* out, const CUmemPoolProps* props) {
    constexpr unsigned kKnownTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const bool managed = props != nullptr && props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (out == nullptr || props == nullptr ||
        (!managed && props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) ||
        (managed && props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        (unsigned{props->handleTypes} & ~kKnownTypes) != 0) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    Device* of = device(props->location.id);
    if (of == nullptr) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const std::lock_guard lock(memory_mutex());
    *out = add_pool(*of, new_generation(), props->handleTypes, false);
    (*out)->managed = managed;
    return CUDA_SUCCESS;
}

CUresult export_pool(void* out, CUmemoryPool pool, CUmemAllocationHandleType type) {
    const std::lock_guard lock(memory_mutex());
    if (out == nullptr || !known(pool) || pool->imported ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || pool->handle_types != unsigned{type}) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const int fd = memfd_create("softcuda-pool", MFD_CLOEXEC);
    const PoolFile content{kPoolMagic, pool->generation, pool->device->physical};
    if (fd < 0 || pwrite(fd, &content, sizeof content, 0) != static_cast<ssize_t>(sizeof content)) {
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    std::memcpy(out, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

CUresult import_pool(CUmemoryPool* out, int fd) {
    PoolFile content{};
    if (out == nullptr ||
        pread(fd, &content, sizeof content, 0) != static_cast<ssize_t>(sizeof content) ||
        content.magic != kPoolMagic) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Device* of = device_by_physical(content.physical);
    if (of == nullptr) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const std::lock_guard lock(memory_mutex());
    *out = add_pool(*of, content.generation, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, true);
    return CUDA_SUCCESS;
}

CUresult set_attribute(CUmemPoolHandle_st& pool, CUmemPool_attribute which, const void* value) {
    switch (which) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            std::memcpy(&pool.reuse[which - 1], value, sizeof(int));
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            std::memcpy(&pool.release_threshold, value, sizeof(uint64_t));
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return CUDA_ERROR_NOT_SUPPORTED;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            break;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult get_attribute(CUmemPoolHandle_st& pool, CUmemPool_attribute which, void* value) {
    switch (which) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            std::memcpy(value, &pool.reuse[which - 1], sizeof(int));
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            std::memcpy(value, &pool.release_threshold, sizeof(uint64_t));
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: {
            const uint64_t bytes = pool_bytes(&pool);
            std::memcpy(value, &bytes, sizeof bytes);
            return CUDA_SUCCESS;
        }
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
    return call(Entry::kMemAllocAsync, Needs::kContext,
                [&] { return allocate_async(dptr, bytesize, nullptr, hStream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
    return call(Entry::kMemAllocFromPoolAsync, Needs::kContext, [&] {
        return pool == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : allocate_async(dptr, bytesize, pool, hStream);
    });
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    return call(Entry::kMemFreeAsync, Needs::kContext, [&] { return free_async(dptr, hStream); });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
    return call(Entry::kDeviceGetDefaultMemPool, Needs::kDriver, [&] {
        if (pool_out == nullptr || device(dev) == nullptr) {
            return pool_out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
        }
        const std::lock_guard lock(memory_mutex());
        *pool_out = default_pool(*device(dev));
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
    return call(Entry::kDeviceGetMemPool, Needs::kDriver, [&] {
        if (pool == nullptr || device(dev) == nullptr) {
            return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
        }
        const std::lock_guard lock(memory_mutex());
        *pool = current_pool(*device(dev));
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    return call(Entry::kDeviceSetMemPool, Needs::kDriver, [&] {
        if (device(dev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        const std::lock_guard lock(memory_mutex());
        if (!known(pool) || pool->imported || pool->device != device(dev)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        device(dev)->current_pool = pool;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
    return call(Entry::kMemPoolCreate, Needs::kDriver,
                [&] { return create_pool(pool, poolProps); });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return call(Entry::kMemPoolDestroy, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        if (!known(pool) || pool->is_default) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (pool->device->current_pool == pool) {
            pool->device->current_pool = nullptr;
        }
        std::erase(pools(), pool);  // its allocations live on; the object stays for them to name
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    return call(Entry::kMemPoolTrimTo, Needs::kDriver, [&] {
        (void)minBytesToKeep;  // nothing is kept back, so there is nothing to give back
        const std::lock_guard lock(memory_mutex());
        return known(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
    return call(Entry::kMemPoolSetAttribute, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        return value == nullptr || !known(pool) ? CUDA_ERROR_INVALID_VALUE
                                                : set_attribute(*pool, attr, value);
    });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
    return call(Entry::kMemPoolGetAttribute, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        return value == nullptr || !known(pool) ? CUDA_ERROR_INVALID_VALUE
                                                : get_attribute(*pool, attr, value);
    });
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
    return call(Entry::kMemPoolSetAccess, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        if (!known(pool) || map == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (size_t i = 0; i < count; ++i) {
            const Device* peer = device(map[i].location.id);
            if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || peer == nullptr) {
                return CUDA_ERROR_INVALID_DEVICE;
            }
            if (peer != pool->device && !can_access_peer(peer->physical, pool->device->physical)) {
                return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
            }
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool,
                            CUmemLocation* location) {
    return call(Entry::kMemPoolGetAccess, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        if (flags == nullptr || location == nullptr || !known(memPool) ||
            device(location->id) == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const bool own = device(location->id) == memPool->device;
        *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags) {
    return call(Entry::kMemPoolExportToShareableHandle, Needs::kDriver, [&] {
        return flags != 0 ? CUDA_ERROR_INVALID_VALUE : export_pool(handle_out, pool, handleType);
    });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool_out, void* handle,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags) {
    return call(Entry::kMemPoolImportFromShareableHandle, Needs::kDriver, [&] {
        return flags != 0 || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                   ? CUDA_ERROR_INVALID_VALUE
                   : import_pool(pool_out, static_cast<int>(reinterpret_cast<intptr_t>(handle)));
    });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
    return call(Entry::kMemPoolExportPointer, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(ptr);
        if (shareData_out == nullptr || found == nullptr || found->kind != MemoryKind::kPool ||
            found->handle_types == 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const SharedAllocation shared = share(*found, found->pool->generation);
        std::memcpy(shareData_out, &shared, sizeof shared);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shareData) {
    return call(Entry::kMemPoolImportPointer, Needs::kContext, [&] {
        if (ptr_out == nullptr || shareData == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        SharedAllocation shared;
        std::memcpy(&shared, shareData, sizeof shared);
        {
            const std::lock_guard lock(memory_mutex());
            if (!known(pool) || !pool->imported || pool->generation != shared.pool) {
                return CUDA_ERROR_INVALID_VALUE;
            }
        }
        uint64_t address = 0;
        const CUresult result = open_import(shared, nullptr, pool, &address);
        if (result == CUDA_SUCCESS) {
            *ptr_out = address;
        }
        return result;
    });
}
