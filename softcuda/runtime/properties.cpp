// SPDX-License-Identifier: BSD-3-Clause
// cudaGetDeviceProperties: the driver's attributes laid out as the structure of CUDA 12 or 13.
#include "softcuda/runtime/state.hpp"

#include <cstddef>
#include <cstring>

namespace {

using Property = cudaDeviceProp;

/// An attribute and the integer member that carries it.
struct IntField {
    CUdevice_attribute attribute;
    size_t offset;
};

/// An attribute and the size_t member that carries it.
struct SizeField {
    CUdevice_attribute attribute;
    size_t offset;
};

#define SOFTCUDA_FIELD(attribute, member) \
    { CU_DEVICE_ATTRIBUTE_##attribute, offsetof(Property, member) }

constexpr IntField kIntFields[] = {
    SOFTCUDA_FIELD(MAX_REGISTERS_PER_BLOCK, regsPerBlock),
    SOFTCUDA_FIELD(WARP_SIZE, warpSize),
    SOFTCUDA_FIELD(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
    SOFTCUDA_FIELD(MAX_BLOCK_DIM_X, maxThreadsDim[0]),
    SOFTCUDA_FIELD(MAX_BLOCK_DIM_Y, maxThreadsDim[1]),
    SOFTCUDA_FIELD(MAX_BLOCK_DIM_Z, maxThreadsDim[2]),
    SOFTCUDA_FIELD(MAX_GRID_DIM_X, maxGridSize[0]),
    SOFTCUDA_FIELD(MAX_GRID_DIM_Y, maxGridSize[1]),
    SOFTCUDA_FIELD(MAX_GRID_DIM_Z, maxGridSize[2]),
    SOFTCUDA_FIELD(COMPUTE_CAPABILITY_MAJOR, major),
    SOFTCUDA_FIELD(COMPUTE_CAPABILITY_MINOR, minor),
    SOFTCUDA_FIELD(MULTIPROCESSOR_COUNT, multiProcessorCount),
    SOFTCUDA_FIELD(INTEGRATED, integrated),
    SOFTCUDA_FIELD(CAN_MAP_HOST_MEMORY, canMapHostMemory),
    SOFTCUDA_FIELD(CONCURRENT_KERNELS, concurrentKernels),
    SOFTCUDA_FIELD(ECC_ENABLED, ECCEnabled),
    SOFTCUDA_FIELD(PCI_BUS_ID, pciBusID),
    SOFTCUDA_FIELD(PCI_DEVICE_ID, pciDeviceID),
    SOFTCUDA_FIELD(PCI_DOMAIN_ID, pciDomainID),
    SOFTCUDA_FIELD(ASYNC_ENGINE_COUNT, asyncEngineCount),
    SOFTCUDA_FIELD(UNIFIED_ADDRESSING, unifiedAddressing),
    SOFTCUDA_FIELD(GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth),
    SOFTCUDA_FIELD(L2_CACHE_SIZE, l2CacheSize),
    SOFTCUDA_FIELD(MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor),
    SOFTCUDA_FIELD(STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported),
    SOFTCUDA_FIELD(MAX_REGISTERS_PER_MULTIPROCESSOR, regsPerMultiprocessor),
    SOFTCUDA_FIELD(MANAGED_MEMORY, managedMemory),
    SOFTCUDA_FIELD(MULTI_GPU_BOARD, isMultiGpuBoard),
    SOFTCUDA_FIELD(MULTI_GPU_BOARD_GROUP_ID, multiGpuBoardGroupID),
    SOFTCUDA_FIELD(HOST_NATIVE_ATOMIC_SUPPORTED, hostNativeAtomicSupported),
    SOFTCUDA_FIELD(PAGEABLE_MEMORY_ACCESS, pageableMemoryAccess),
    SOFTCUDA_FIELD(CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess),
    SOFTCUDA_FIELD(COMPUTE_PREEMPTION_SUPPORTED, computePreemptionSupported),
    SOFTCUDA_FIELD(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, canUseHostPointerForRegisteredMem),
    SOFTCUDA_FIELD(COOPERATIVE_LAUNCH, cooperativeLaunch),
    SOFTCUDA_FIELD(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
                   pageableMemoryAccessUsesHostPageTables),
    SOFTCUDA_FIELD(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, directManagedMemAccessFromHost),
    SOFTCUDA_FIELD(MAX_BLOCKS_PER_MULTIPROCESSOR, maxBlocksPerMultiProcessor),
    SOFTCUDA_FIELD(HOST_REGISTER_SUPPORTED, hostRegisterSupported),
    SOFTCUDA_FIELD(READ_ONLY_HOST_REGISTER_SUPPORTED, hostRegisterReadOnlySupported),
    SOFTCUDA_FIELD(MEMORY_POOLS_SUPPORTED, memoryPoolsSupported),
    SOFTCUDA_FIELD(GPU_DIRECT_RDMA_SUPPORTED, gpuDirectRDMASupported),
    SOFTCUDA_FIELD(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, gpuDirectRDMAFlushWritesOptions),
    SOFTCUDA_FIELD(GPU_DIRECT_RDMA_WRITES_ORDERING, gpuDirectRDMAWritesOrdering),
    SOFTCUDA_FIELD(MEMPOOL_SUPPORTED_HANDLE_TYPES, memoryPoolSupportedHandleTypes),
    SOFTCUDA_FIELD(IPC_EVENT_SUPPORTED, ipcEventSupported),
    SOFTCUDA_FIELD(CLUSTER_LAUNCH, clusterLaunch),
#if CUDART_VERSION < 13000
    SOFTCUDA_FIELD(CLOCK_RATE, clockRate),
    SOFTCUDA_FIELD(MEMORY_CLOCK_RATE, memoryClockRate),
    SOFTCUDA_FIELD(GPU_OVERLAP, deviceOverlap),
    SOFTCUDA_FIELD(KERNEL_EXEC_TIMEOUT, kernelExecTimeoutEnabled),
    SOFTCUDA_FIELD(COMPUTE_MODE, computeMode),
#endif
};

constexpr SizeField kSizeFields[] = {
    SOFTCUDA_FIELD(MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock),
    SOFTCUDA_FIELD(MAX_PITCH, memPitch),
    SOFTCUDA_FIELD(TOTAL_CONSTANT_MEMORY, totalConstMem),
    SOFTCUDA_FIELD(TEXTURE_ALIGNMENT, textureAlignment),
    SOFTCUDA_FIELD(TEXTURE_PITCH_ALIGNMENT, texturePitchAlignment),
    SOFTCUDA_FIELD(SURFACE_ALIGNMENT, surfaceAlignment),
    SOFTCUDA_FIELD(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sharedMemPerMultiprocessor),
    SOFTCUDA_FIELD(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sharedMemPerBlockOptin),
    SOFTCUDA_FIELD(RESERVED_SHARED_MEMORY_PER_BLOCK, reservedSharedMemPerBlock),
};

#undef SOFTCUDA_FIELD

/// Value of an attribute; one that this driver does not know counts as absent (0).
int attribute_or_zero(CUdevice_attribute attribute, CUdevice device) {
    int value = 0;
    return cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

CUresult fill(Property* prop, int ordinal) {
    CUdevice device = 0;
    CUresult result = cuDeviceGet(&device, ordinal);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = cuDeviceGetName(prop->name, static_cast<int>(sizeof prop->name), device);
    if (result == CUDA_SUCCESS) {
        result = cuDeviceGetUuid(&prop->uuid, device);
    }
    if (result == CUDA_SUCCESS) {
        result = cuDeviceTotalMem(&prop->totalGlobalMem, device);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    char* const bytes = reinterpret_cast<char*>(prop);
    for (const IntField& field : kIntFields) {
        const int value = attribute_or_zero(field.attribute, device);
        std::memcpy(bytes + field.offset, &value, sizeof value);
    }
    for (const SizeField& field : kSizeFields) {
        const int value = attribute_or_zero(field.attribute, device);
        const size_t wide = value < 0 ? 0 : static_cast<size_t>(value);
        std::memcpy(bytes + field.offset, &wide, sizeof wide);
    }
    return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) {
    if (prop == nullptr) {
        return softcuda::runtime::record(cudaErrorInvalidValue);
    }
    std::memset(prop, 0, sizeof *prop);
    return softcuda::runtime::with_driver([&] { return fill(prop, device); });
}
