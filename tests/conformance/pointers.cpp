// SPDX-License-Identifier: BSD-3-Clause
// What the driver says of every kind of pointer, and who may touch it.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 4096;

/// Every attribute a classifier asks for, in one call.
struct View {
    CUcontext context = reinterpret_cast<CUcontext>(1);
    unsigned type = 77;
    CUdeviceptr device_pointer = 1;
    unsigned managed = 77;
    unsigned long long buffer_id = 77;
    int ordinal = 77;
    CUresult result = CUDA_ERROR_UNKNOWN;
};

View view(CUdeviceptr pointer) {
    View seen;
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_CONTEXT,        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* values[] = {&seen.context, &seen.type,      &seen.device_pointer,
                      &seen.managed, &seen.buffer_id, &seen.ordinal};
    seen.result = cu.cuPointerGetAttributes(6, wanted, values, pointer);
    return seen;
}

void device_memory() {
    const CUcontext context = open_device();
    const CUdeviceptr memory = allocate(kBytes);
    for (const size_t offset : {size_t{0}, size_t{1}, kBytes - 1}) {
        const View seen = view(memory + offset);
        EXPECT_RESULT(seen.result, CUDA_SUCCESS);
        EXPECT(seen.type == CU_MEMORYTYPE_DEVICE);
        EXPECT(seen.managed == 0);
        EXPECT(seen.ordinal == 0);
        EXPECT(seen.context == context);
        EXPECT(seen.device_pointer == memory + offset);
        EXPECT(seen.buffer_id != 0);
    }
    EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 9) ==
           memory);
    EXPECT(pointer_attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory + 9) == kBytes);
    EXPECT(pointer_attribute<unsigned char>(CU_POINTER_ATTRIBUTE_MAPPED, memory) != 0);
}

void unknown_memory_many() {
    open_device();
    static char host[64];
    const View seen = view(address_of(host));
    EXPECT_RESULT(seen.result, CUDA_SUCCESS);
    EXPECT(seen.type == 0);
    EXPECT(seen.context == nullptr);
    EXPECT(seen.device_pointer == 0);
    EXPECT(seen.managed == 0);
}

void unknown_memory_one() {
    open_device();
    static char host[64];
    unsigned type = 0;
    EXPECT_RESULT(
        cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(host)),
        CUDA_ERROR_INVALID_VALUE);
}

void pinned_memory() {
    const CUcontext context = open_device();
    void* memory = nullptr;
    MUST(cu.cuMemHostAlloc(&memory, kBytes, 0));
    const View seen = view(address_of(memory) + 5);
    EXPECT_RESULT(seen.result, CUDA_SUCCESS);
    EXPECT(seen.type == CU_MEMORYTYPE_HOST);
    EXPECT(seen.managed == 0);
    EXPECT(seen.context == context);
    EXPECT(pointer_attribute<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address_of(memory) + 5) ==
           static_cast<char*>(memory) + 5);
}

void managed_memory() {
    open_device();
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAllocManaged(&memory, kBytes, CU_MEM_ATTACH_GLOBAL));
    const View seen = view(memory + 3);
    EXPECT_RESULT(seen.result, CUDA_SUCCESS);
    EXPECT(seen.managed == 1);
    EXPECT(seen.type == CU_MEMORYTYPE_DEVICE || seen.type == CU_MEMORYTYPE_HOST);
    EXPECT(seen.device_pointer == memory + 3);
}

void without_context() {
    MUST(cu.cuInit(0));
    static char host[64];
    const View seen = view(address_of(host));
    // Whatever it answers, it must not call the host buffer a device's.
    EXPECT(seen.result != CUDA_SUCCESS || seen.type == 0);
}

void address_range() {
    open_device();
    const CUdeviceptr memory = allocate(kBytes + 3);
    CUdeviceptr base = 0;
    size_t size = 0;
    MUST(cu.cuMemGetAddressRange(&base, &size, memory + kBytes));
    EXPECT(base == memory);
    EXPECT(size == kBytes + 3);
    static char host[64];
    EXPECT_RESULT(cu.cuMemGetAddressRange(&base, &size, address_of(host)), CUDA_ERROR_NOT_FOUND);
    MUST(cu.cuMemFree(memory));
    EXPECT_RESULT(cu.cuMemGetAddressRange(&base, &size, memory), CUDA_ERROR_NOT_FOUND);
}

void buffer_ids() {
    open_device();
    const CUdeviceptr first = allocate(kBytes);
    const CUdeviceptr second = allocate(kBytes);
    const auto id_of = [](CUdeviceptr p) {
        return pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, p);
    };
    const unsigned long long old = id_of(first);
    EXPECT(old != id_of(second));
    EXPECT(old == id_of(first + kBytes - 1));
    MUST(cu.cuMemFree(first));
    for (int i = 0; i < 20; ++i) {
        const CUdeviceptr again = allocate(kBytes);
        EXPECT(id_of(again) != old);
        EXPECT(id_of(again) != id_of(second));
        MUST(cu.cuMemFree(again));
    }
}

void legacy_ipc_capable() {
    open_device();
    EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                  allocate(kBytes)) == 1);
    CUdeviceptr managed = 0;
    MUST(cu.cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
    EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, managed) == 0);
}

void zero_sizes() {
    open_device();
    CUdeviceptr memory = 0;
    EXPECT_RESULT(cu.cuMemAlloc(&memory, 0), CUDA_ERROR_INVALID_VALUE);
    memory = allocate(kBytes);
    EXPECT_RESULT(cu.cuMemcpyDtoD(memory, memory + 8, 0), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemsetD8(memory, 1, 0), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemFree(0), CUDA_SUCCESS);
}

void sync_memops() {
    open_device();
    const CUdeviceptr memory = allocate(kBytes);
    const unsigned on = 1;
    EXPECT_RESULT(cu.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory),
                  CUDA_SUCCESS);
    EXPECT(pointer_attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory) == 1);
}

sigjmp_buf fault_return;

void on_fault(int) {
    siglongjmp(fault_return, 1);
}

void host_access_faults() {
    open_device();
    if (attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 0) {
        skip("this machine lets the host load from device memory");
    }
    const CUdeviceptr memory = allocate(kBytes);
    struct sigaction action = {};
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    volatile bool faulted = true;
    if (sigsetjmp(fault_return, 1) == 0) {
        static_cast<void>(*static_cast<volatile char*>(pointer_to(memory + 100)));
        faulted = false;
    }
    EXPECT(faulted);
}

void system_calls_refuse() {
    open_device();
    if (attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 0) {
        skip("this machine lets the host load from device memory");
    }
    const CUdeviceptr memory = allocate(kBytes);
    int ends[2];
    EXPECT(pipe(ends) == 0);
    errno = 0;
    EXPECT(write(ends[1], pointer_to(memory), 16) == -1 && errno == EFAULT);
}

/// On Grace Hopper and its like the host loads and stores through device addresses, and so does a
/// network card.
void host_access_works() {
    open_device();
    if (attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) == 0) {
        skip("the host may not load from device memory here");
    }
    constexpr size_t kLarge = size_t{5} << 20;
    for (const size_t size : {kBytes, kLarge}) {
        const CUdeviceptr memory = allocate(size);
        put(memory, size, 3);
        auto* bytes = static_cast<volatile unsigned char*>(pointer_to(memory));
        const std::vector<unsigned char> wanted = pattern(size, 3);
        EXPECT(bytes[0] == wanted[0] && bytes[size - 1] == wanted[size - 1]);
        const std::vector<unsigned char> other = pattern(size, 4);
        for (size_t i = 0; i < size; ++i) {
            bytes[i] = other[i];
        }
        EXPECT(holds(memory, size, 4));
        MUST(cu.cuMemFree(memory));
    }
}

/// The device, its memory and the flush agree on whether a card may reach the memory.
void rdma_attributes_agree() {
    open_device();
    const bool supported = attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) != 0;
    const CUdeviceptr memory = allocate(kBytes);
    EXPECT((pointer_attribute<unsigned char>(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
                                             memory) != 0) == supported);
    const bool flushes = (attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) &
                          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0;
    EXPECT_RESULT(cu.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
                  flushes ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
}

const Case kCases[] = {
    {"pointer.device_memory", device_memory},
    {"pointer.unknown_memory_many", unknown_memory_many},
    {"pointer.unknown_memory_one", unknown_memory_one},
    {"pointer.pinned_memory", pinned_memory},
    {"pointer.managed_memory", managed_memory},
    {"pointer.without_context", without_context, Source::kBelieved},
    {"pointer.address_range", address_range},
    {"pointer.host_access_works", host_access_works},
    {"pointer.rdma_attributes_agree", rdma_attributes_agree, Source::kBelieved},
    {"pointer.buffer_ids", buffer_ids},
    {"pointer.legacy_ipc_capable", legacy_ipc_capable},
    {"pointer.zero_sizes", zero_sizes},
    {"pointer.sync_memops", sync_memops},
    {"pointer.host_access_faults", host_access_faults},
    {"pointer.system_calls_refuse", system_calls_refuse},
};

}  // namespace

std::span<const Case> pointer_cases() {
    return kCases;
}

}  // namespace conformance
