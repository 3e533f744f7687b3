// SPDX-License-Identifier: BSD-3-Clause
// Driver entries that say what a pointer is.
#include <cstring>
#include <utility>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/memory.hpp"
#include "softcuda/driver/vmm.hpp"

namespace softcuda {
namespace {

template <class Value>
CUresult put(void* out, Value value) {
    std::memcpy(out, &value, sizeof value);
    return CUDA_SUCCESS;
}

unsigned memory_type(const Allocation& allocation) {
    return allocation.is_device_memory() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

/** The address the host may dereference; 0 for device memory. */
uint64_t host_pointer(const Allocation& allocation, uint64_t address) {
    const bool reachable = !allocation.is_device_memory() ||
                           allocation.kind == MemoryKind::kManaged || config().host_access;
    return reachable ? address : 0;
}

/** Of mapped memory the whole reservation, which can hold several mappings and gaps. */
std::pair<uint64_t, uint64_t> range_of(const Allocation& of) {
    uint64_t start = of.address;
    uint64_t size = of.size;
    if (of.kind == MemoryKind::kMapped) {
        find_reservation(of.address, &start, &size);
    }
    return {start, size};
}

/** Writes one attribute of a known pointer. Types are those cuda.h documents for each. */
/** Whether a network card may be given the memory: of cuMemCreate's only what asked for it. */
bool rdma_capable(const Allocation& of) {
    return config().gpudirect && (of.kind == MemoryKind::kDevice || of.kind == MemoryKind::kPool ||
                                  (of.kind == MemoryKind::kMapped && of.rdma_asked));
}

CUresult attribute(void* out, CUpointer_attribute which, const Allocation& of, uint64_t address) {
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return put(out, of.context);
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return put(out, memory_type(of));
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return put(out, address);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return put(out, host_pointer(of, address));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return put(out, unsigned{of.sync_memops});
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return put(out, of.buffer_id);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return put(out, unsigned{of.kind == MemoryKind::kManaged});
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return put(out, of.device->ordinal);
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return put(out, unsigned{of.kind == MemoryKind::kDevice});
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return put(out, range_of(of).first);
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return put(out, range_of(of).second);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return put(out, 1U);
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return put(out, of.handle_types);
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return put(out, unsigned{rdma_capable(of)});
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return put(out, access_flags(of));
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return put(out, of.pool);
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            return put(out, of.size);
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            return put(out, of.address);
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return put(out, of.buffer_id);
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
            return put(out, 0U);
        case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/** Writes what the plural call answers for a pointer CUDA does not know: nothing, in each type. */
CUresult no_attribute(void* out, CUpointer_attribute which) {
    switch (which) {
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return put(out, int{CU_DEVICE_INVALID});
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
            return put(out, 0U);
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return put(out, uint64_t{0});
        case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    return call(Entry::kPointerGetAttribute, Needs::kDriver, [&] {
        if (data == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(ptr);
        return found == nullptr ? CUDA_ERROR_INVALID_VALUE
                                : softcuda::attribute(data, attribute, *found, ptr);
    });
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
    return call(Entry::kPointerGetAttributes, Needs::kDriver, [&] {
        if (numAttributes == 0 || attributes == nullptr || data == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (numAttributes == 1 && attributes[0] == CU_POINTER_ATTRIBUTE_BUFFER_ID) {
            return put(data[0], buffer_id_of(ptr));
        }
        const std::lock_guard lock(memory_mutex());
        const Allocation* found = find_allocation(ptr);
        for (unsigned i = 0; i < numAttributes; ++i) {
            const CUresult result = found != nullptr
                                        ? softcuda::attribute(data[i], attributes[i], *found, ptr)
                                        : no_attribute(data[i], attributes[i]);
            if (result != CUDA_SUCCESS) {
                return result;
            }
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
    return call(Entry::kPointerSetAttribute, Needs::kDriver, [&] {
        const std::lock_guard lock(memory_mutex());
        Allocation* found = find_allocation(ptr);
        if (value == nullptr || found == nullptr || !found->is_device_memory() ||
            attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (found->kind == MemoryKind::kPool || found->kind == MemoryKind::kMapped) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        found->sync_memops = *static_cast<const unsigned*>(value) != 0;
        return CUDA_SUCCESS;
    });
}
