// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory management: physical memory, address ranges, mappings, access, shared descriptors.
#include <unistd.h>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

CUmemAllocationProp properties(CUmemAllocationHandleType handles) {
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.location.id = 0;
    wanted.requestedHandleTypes = handles;
    return wanted;
}

constexpr CUmemAllocationHandleType kPrivate = CU_MEM_HANDLE_TYPE_NONE;
constexpr CUmemAllocationHandleType kShared = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void need_support() {
    open_device();
    if (attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0) {
        skip("this device has no virtual memory management");
    }
}

size_t granularity() {
    size_t bytes = 0;
    const CUmemAllocationProp wanted = properties(kPrivate);
    MUST(cu.cuMemGetAllocationGranularity(&bytes, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return bytes;
}

CUmemGenericAllocationHandle create(size_t bytes, CUmemAllocationHandleType handles) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp wanted = properties(handles);
    MUST(cu.cuMemCreate(&handle, bytes, &wanted, 0));
    return handle;
}

CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes, bool access = true) {
    CUdeviceptr where = 0;
    MUST(cu.cuMemAddressReserve(&where, bytes, 0, 0, 0));
    MUST(cu.cuMemMap(where, bytes, 0, handle, 0));
    if (access) {
        CUmemAccessDesc grant = {};
        grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        grant.location.id = 0;
        grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        MUST(cu.cuMemSetAccess(where, bytes, &grant, 1));
    }
    return where;
}

void sizes() {
    need_support();
    const size_t unit = granularity();
    EXPECT(unit >= 4096 && (unit & (unit - 1)) == 0);
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp wanted = properties(kPrivate);
    EXPECT_RESULT(cu.cuMemCreate(&handle, unit + 1, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemCreate(&handle, 0, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
}

void use() {
    need_support();
    const size_t bytes = granularity();
    const CUmemGenericAllocationHandle handle = create(bytes, kPrivate);
    const CUdeviceptr where = map(handle, bytes);
    put(where, bytes, 1);
    EXPECT(holds(where, bytes, 1));
    EXPECT(pointer_attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, where + 5) ==
           CU_MEMORYTYPE_DEVICE);
    EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, where) == 0);
    EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, where) == 0);
    CUdeviceptr base = 0;
    size_t size = 0;
    MUST(cu.cuMemGetAddressRange(&base, &size, where + 100));
    EXPECT(base == where && size == bytes);
    CUipcMemHandle ipc;
    EXPECT_RESULT(cu.cuIpcGetMemHandle(&ipc, where), CUDA_ERROR_INVALID_VALUE);
    MUST(cu.cuMemUnmap(where, bytes));
    MUST(cu.cuMemRelease(handle));
    MUST(cu.cuMemAddressFree(where, bytes));
}

void belongs_to_no_context() {
    need_support();
    const size_t bytes = granularity();
    const CUdeviceptr where = map(create(bytes, kPrivate), bytes);
    CUcontext context = reinterpret_cast<CUcontext>(1);
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT};
    void* values[] = {&context};
    MUST(cu.cuPointerGetAttributes(1, wanted, values, where));
    EXPECT(context == nullptr);
}

/** A range of two parts: the range attributes tell of the reservation, the mapping attributes and
 *  cuMemGetAddressRange of the part. */
void parts_of_a_range() {
    need_support();
    const size_t unit = granularity();
    CUdeviceptr where = 0;
    MUST(cu.cuMemAddressReserve(&where, 4 * unit, 0, 0, 0));
    for (const size_t at : {unit, 2 * unit}) {
        MUST(cu.cuMemMap(where + at, unit, 0, create(unit, kShared), 0));
    }
    CUmemAccessDesc grant = {};
    grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    MUST(cu.cuMemSetAccess(where + unit, 2 * unit, &grant, 1));
    put(where + unit, 2 * unit, 9);  // across both
    EXPECT(holds(where + unit, 2 * unit, 9));
    for (const size_t at : {unit + 5, 2 * unit + 5}) {
        const CUdeviceptr part = where + at / unit * unit;
        const CUdeviceptr pointer = where + at;
        EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer) ==
               where);
        EXPECT(pointer_attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer) == 4 * unit);
        EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, pointer) ==
               part);
        EXPECT(pointer_attribute<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, pointer) == unit);
        EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                                     pointer) == kShared);
    }
    EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, where + unit) !=
           pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, where + 2 * unit));
    MUST(cu.cuMemUnmap(where + unit, 2 * unit));  // both at once
    MUST(cu.cuMemAddressFree(where, 4 * unit));
}

/** Two parts of another process, put side by side here; the exporter lets go first. */
void shared_in_parts() {
    run_pair(
        [](const Line& line) {
            need_support();
            const size_t unit = granularity();
            for (unsigned char i = 0; i < 2; ++i) {
                const CUmemGenericAllocationHandle handle = create(unit, kShared);
                const CUdeviceptr where = map(handle, unit);
                put(where, unit, static_cast<unsigned char>(i + 1));
                CUmemGenericAllocationHandle again = 0;
                MUST(cu.cuMemRetainAllocationHandle(&again, pointer_to(where)));
                int descriptor = -1;
                MUST(cu.cuMemExportToShareableHandle(&descriptor, again, kShared, 0));
                MUST(cu.cuMemRelease(again));
                line.send_descriptor(descriptor);
                close(descriptor);
                line.await();
                MUST(cu.cuMemUnmap(where, unit));
                MUST(cu.cuMemRelease(handle));
            }
            line.signal();
        },
        [](const Line& line) {
            CUdeviceptr where = 0;
            size_t unit = 0;
            for (size_t i = 0; i < 2; ++i) {
                const int descriptor = line.receive_descriptor();
                if (i == 0) {
                    need_support();
                    unit = granularity();
                    MUST(cu.cuMemAddressReserve(&where, 2 * unit, 0, 0, 0));
                }
                CUmemGenericAllocationHandle handle = 0;
                MUST(cu.cuMemImportFromShareableHandle(
                    &handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)), kShared));
                close(descriptor);
                MUST(cu.cuMemMap(where + i * unit, unit, 0, handle, 0));
                MUST(cu.cuMemRelease(handle));  // the mapping keeps it
                line.signal();
            }
            CUmemAccessDesc grant = {};
            grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
            grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            MUST(cu.cuMemSetAccess(where, 2 * unit, &grant, 1));
            line.await();
            EXPECT(holds(where, unit, 1));
            EXPECT(holds(where + unit, unit, 2));
            MUST(cu.cuMemUnmap(where, 2 * unit));
        });
}

void access_first() {
    need_support();
    const size_t bytes = granularity();
    const CUdeviceptr where = map(create(bytes, kPrivate), bytes, false);
    unsigned long long flags = 77;
    CUmemLocation device = {};
    device.type = CU_MEM_LOCATION_TYPE_DEVICE;
    MUST(cu.cuMemGetAccess(&flags, &device, where));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CUresult result = cu.cuMemsetD8(where, 1, bytes);
    if (result == CUDA_SUCCESS) {
        result = cu.cuCtxSynchronize();
    }
    EXPECT(result != CUDA_SUCCESS);
}

void one_handle_two_ranges() {
    need_support();
    const size_t bytes = granularity();
    const CUmemGenericAllocationHandle handle = create(bytes, kPrivate);
    const CUdeviceptr first = map(handle, bytes);
    const CUdeviceptr second = map(handle, bytes);
    EXPECT(first != second);
    put(first, bytes, 3);
    EXPECT(holds(second, bytes, 3));
    CUmemGenericAllocationHandle again = 0;
    MUST(cu.cuMemRetainAllocationHandle(&again, pointer_to(first)));
    MUST(cu.cuMemRelease(again));
    MUST(cu.cuMemRelease(handle));
    EXPECT(holds(first, bytes, 3));  // mappings keep it alive
}

void export_needs_request() {
    need_support();
    const size_t bytes = granularity();
    int descriptor = -1;
    EXPECT(cu.cuMemExportToShareableHandle(&descriptor, create(bytes, kPrivate), kShared, 0) !=
           CUDA_SUCCESS);
}

void shared_by_descriptor() {
    run_pair(
        [](const Line& line) {
            need_support();
            const size_t bytes = granularity();
            const CUmemGenericAllocationHandle handle = create(bytes, kShared);
            const CUdeviceptr where = map(handle, bytes);
            put(where, bytes, 5);
            int descriptor = -1;
            MUST(cu.cuMemExportToShareableHandle(&descriptor, handle, kShared, 0));
            line.send_descriptor(descriptor);
            close(descriptor);
            line.await();
            EXPECT(holds(where, bytes, 6));
        },
        [](const Line& line) {
            const int descriptor = line.receive_descriptor();
            need_support();
            const size_t bytes = granularity();
            CUmemGenericAllocationHandle handle = 0;
            MUST(cu.cuMemImportFromShareableHandle(
                &handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)), kShared));
            close(descriptor);
            const CUdeviceptr where = map(handle, bytes);
            EXPECT(holds(where, bytes, 5));
            put(where, bytes, 6);
            line.signal();
        });
}

void dma_buf_alignment() {
    open_device();
    if (attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
        skip("this driver exports no dma-buf");
    }
    const CUdeviceptr memory = allocate(4 << 20);
    int descriptor = -1;
    EXPECT_RESULT(cu.cuMemGetHandleForAddressRange(&descriptor, memory + 8, 4096,
                                                   CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemGetHandleForAddressRange(&descriptor, memory, 4 << 20,
                                                   CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                  CUDA_SUCCESS);
    EXPECT(descriptor >= 0 && close(descriptor) == 0);
    EXPECT_RESULT(cu.cuMemGetHandleForAddressRange(&descriptor, memory, 4096 + 512,
                                                   CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                  CUDA_ERROR_INVALID_VALUE);
    MUST(cu.cuMemFree(memory));
}

/// Several neighbouring mappings have one descriptor; a gap has none.
void dma_buf_of_mappings() {
    need_support();
    if (attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
        skip("this driver exports no dma-buf");
    }
    const size_t bytes = granularity();
    CUdeviceptr range = 0;
    MUST(cu.cuMemAddressReserve(&range, 3 * bytes, 0, 0, 0));
    for (const CUdeviceptr at : {range, range + bytes}) {
        CUmemGenericAllocationHandle handle = 0;
        CUmemAllocationProp prop = properties(kPrivate);
        prop.allocFlags.gpuDirectRDMACapable = 1;
        MUST(cu.cuMemCreate(&handle, bytes, &prop, 0));
        MUST(cu.cuMemMap(at, bytes, 0, handle, 0));
        MUST(cu.cuMemRelease(handle));
    }
    CUmemAccessDesc grant = {};
    grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    MUST(cu.cuMemSetAccess(range, 2 * bytes, &grant, 1));
    int descriptor = -1;
    EXPECT_RESULT(cu.cuMemGetHandleForAddressRange(&descriptor, range, 2 * bytes,
                                                   CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                  CUDA_SUCCESS);
    EXPECT(descriptor >= 0 && close(descriptor) == 0);
    EXPECT(cu.cuMemGetHandleForAddressRange(&descriptor, range, 3 * bytes,
                                            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                            0) != CUDA_SUCCESS);
    MUST(cu.cuMemUnmap(range, 2 * bytes));
    MUST(cu.cuMemAddressFree(range, 3 * bytes));
}

const Case kCases[] = {
    {"virtual.sizes", sizes},
    {"virtual.use", use},
    {"virtual.belongs_to_no_context", belongs_to_no_context, Source::kBelieved},
    {"virtual.parts_of_a_range", parts_of_a_range},
    {"virtual.shared_in_parts", shared_in_parts},
    {"virtual.access_first", access_first, Source::kBelieved},
    {"virtual.one_handle_two_ranges", one_handle_two_ranges},
    {"virtual.export_needs_request", export_needs_request},
    {"virtual.shared_by_descriptor", shared_by_descriptor},
    {"virtual.dma_buf_alignment", dma_buf_alignment},
    {"virtual.dma_buf_of_mappings", dma_buf_of_mappings, Source::kBelieved},
};

}  // namespace

std::span<const Case> virtual_cases() {
    return kCases;
}

}  // namespace conformance
