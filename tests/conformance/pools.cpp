// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation from memory pools.
#include <unistd.h>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 1 << 20;

CUstream open_with_pools() {
    open_device();
    if (attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
        skip("this device has no memory pools");
    }
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUmemPoolProps pool_properties(CUmemAllocationHandleType handles) {
    CUmemPoolProps wanted = {};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.handleTypes = handles;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.location.id = 0;
    return wanted;
}

void use() {
    const CUstream stream = open_with_pools();
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAllocAsync(&memory, kBytes, stream));
    MUST(cu.cuMemsetD8Async(memory, 3, kBytes, stream));
    MUST(cu.cuStreamSynchronize(stream));
    unsigned char value = 0;
    MUST(cu.cuMemcpyDtoH(&value, memory + 77, 1));
    EXPECT(value == 3);
    EXPECT(pointer_attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) ==
           CU_MEMORYTYPE_DEVICE);
    EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory) == 0);
    CUipcMemHandle handle;
    EXPECT_RESULT(cu.cuIpcGetMemHandle(&handle, memory), CUDA_ERROR_INVALID_VALUE);
    MUST(cu.cuMemFreeAsync(memory, stream));
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

void free_keeps_order() {
    const CUstream stream = open_with_pools();
    CUdeviceptr memory = 0;
    const CUdeviceptr copy = allocate(kBytes);
    MUST(cu.cuMemAllocAsync(&memory, kBytes, stream));
    MUST(cu.cuMemsetD8Async(memory, 9, kBytes, stream));
    Gate gate(stream);
    MUST(cu.cuMemcpyDtoDAsync(copy, memory, kBytes, stream));
    MUST(cu.cuMemFreeAsync(memory, stream));
    gate.open();
    MUST(cu.cuStreamSynchronize(stream));
    unsigned char value = 0;
    MUST(cu.cuMemcpyDtoH(&value, copy + kBytes - 1, 1));
    EXPECT(value == 9);
}

void default_pool() {
    const CUstream stream = open_with_pools();
    CUmemoryPool pool = nullptr;
    MUST(cu.cuDeviceGetDefaultMemPool(&pool, 0));
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAllocFromPoolAsync(&memory, kBytes, pool, stream));
    EXPECT(pointer_attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory) == pool);
    cuuint64_t used = 0;
    MUST(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT(used >= kBytes);
    MUST(cu.cuMemFreeAsync(memory, stream));
    MUST(cu.cuStreamSynchronize(stream));
    EXPECT_RESULT(cu.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    EXPECT(cu.cuMemPoolDestroy(pool) != CUDA_SUCCESS);
}

void belongs_to_no_context() {
    const CUstream stream = open_with_pools();
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAllocAsync(&memory, kBytes, stream));
    CUcontext context = reinterpret_cast<CUcontext>(1);
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT};
    void* values[] = {&context};
    MUST(cu.cuPointerGetAttributes(1, wanted, values, memory));
    EXPECT(context == nullptr);
}

void synchronous_free() {
    const CUstream stream = open_with_pools();
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAllocAsync(&memory, kBytes, stream));
    MUST(cu.cuStreamSynchronize(stream));
    EXPECT_RESULT(cu.cuMemFree(memory), CUDA_SUCCESS);
}

void shared_pool() {
    run_pair(
        [](const Line& line) {
            const CUstream stream = open_with_pools();
            const CUmemPoolProps wanted = pool_properties(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
            CUmemoryPool pool = nullptr;
            const CUresult made = cu.cuMemPoolCreate(&pool, &wanted);
            if (made == CUDA_ERROR_NOT_SUPPORTED) {
                skip("this driver shares no pools");
            }
            MUST(made);
            CUdeviceptr memory = 0;
            MUST(cu.cuMemAllocFromPoolAsync(&memory, kBytes, pool, stream));
            MUST(cu.cuStreamSynchronize(stream));
            put(memory, kBytes, 4);
            int descriptor = -1;
            MUST(cu.cuMemPoolExportToShareableHandle(&descriptor, pool,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
            CUmemPoolPtrExportData data;
            MUST(cu.cuMemPoolExportPointer(&data, memory));
            line.send_descriptor(descriptor);
            line.send(data);
            line.await();
        },
        [](const Line& line) {
            const int descriptor = line.receive_descriptor();
            auto data = line.receive<CUmemPoolPtrExportData>();
            open_device();
            CUmemoryPool pool = nullptr;
            MUST(cu.cuMemPoolImportFromShareableHandle(
                &pool, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
            CUdeviceptr memory = 0;
            MUST(cu.cuMemPoolImportPointer(&memory, pool, &data));
            EXPECT(holds(memory, kBytes, 4));
            line.signal();
        });
}

const Case kCases[] = {
    {"pool.use", use},
    {"pool.free_keeps_order", free_keeps_order},
    {"pool.default_pool", default_pool},
    {"pool.belongs_to_no_context", belongs_to_no_context, Source::kBelieved},
    {"pool.synchronous_free", synchronous_free},
    {"pool.shared_pool", shared_pool},
};

}  // namespace

std::span<const Case> pool_cases() {
    return kCases;
}

}  // namespace conformance
