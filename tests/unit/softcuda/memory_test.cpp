// SPDX-License-Identifier: BSD-3-Clause
// Device memory: faults on the host, reuse of addresses, limits, attributes.
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "support.hpp"

namespace softcuda_test {
namespace {

/** Memory up to this size shares pages, which stay when it is freed. */
constexpr size_t kShared = size_t{1} << 20;

sigjmp_buf after_fault;
void* volatile fault_address;

void on_fault(int, siginfo_t* info, void*) {
    fault_address = info->si_addr;
    siglongjmp(after_fault, 1);
}

/** Whether touching `address` raises SIGSEGV exactly there. */
bool faults(CUdeviceptr address, bool write) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    auto* byte = reinterpret_cast<volatile char*>(address);
    bool faulted = false;
    if (sigsetjmp(after_fault, 1) != 0) {
        faulted = fault_address == reinterpret_cast<void*>(address);
    } else if (write) {
        *byte = 1;
    } else {
        (void)*byte;
    }
    sigaction(SIGSEGV, &before, nullptr);
    return faulted;
}

TEST(Memory, HostAccessFaults) {
    in_child({}, [] {
        start();
        for (const size_t size : {size_t{100}, size_t{5} << 20}) {
            const CUdeviceptr address = allocate(size);
            EXPECT_TRUE(faults(address, false));
            EXPECT_TRUE(faults(address + size - 1, true));
        }
    });
}

TEST(Memory, SystemCallsRefuseDeviceAddresses) {
    in_child({}, [] {
        start();
        const CUdeviceptr address = allocate(4096);
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        EXPECT_EQ(write(ends[1], reinterpret_cast<void*>(address), 16), -1);
        EXPECT_EQ(errno, EFAULT);
        char target[16];
        iovec local{target, sizeof target};
        iovec remote{reinterpret_cast<void*>(address), sizeof target};
        EXPECT_EQ(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), -1);
        EXPECT_EQ(errno, EFAULT);
    });
}

TEST(Memory, HostReachesItWhereAllowed) {
    in_child({{"SOFTCUDA_HOST_ACCESS", "1"}}, [] {
        start();
        for (const size_t size : {size_t{100}, size_t{5} << 20}) {
            const CUdeviceptr address = allocate(size);
            EXPECT_OK(cuMemsetD8(address, 0x5a, size));
            EXPECT_OK(cuCtxSynchronize());
            auto* bytes = reinterpret_cast<volatile unsigned char*>(address);
            EXPECT_EQ(bytes[size - 1], 0x5a);
            bytes[0] = 0x17;
            unsigned char seen = 0;
            EXPECT_OK(cuMemcpyDtoH(&seen, address, 1));
            EXPECT_EQ(seen, 0x17);
            EXPECT_EQ(attribute<unsigned>(address, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE),
                      1U);
            // It is device memory all the same.
            EXPECT_EQ(attribute<unsigned>(address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
                      unsigned{CU_MEMORYTYPE_DEVICE});
            EXPECT_OK(cuMemFree(address));
            EXPECT_TRUE(size < kShared || faults(address, false));
        }
    });
}

TEST(Memory, GpudirectAloneLeavesItOutOfReach) {
    in_child({{"SOFTCUDA_GPUDIRECT", "1"}}, [] {
        start();
        int supported = 0;
        int page_tables = 1;
        EXPECT_OK(
            cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0));
        EXPECT_OK(cuDeviceGetAttribute(
            &page_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0));
        EXPECT_EQ(supported, 1);
        EXPECT_EQ(page_tables, 0);
        EXPECT_TRUE(faults(allocate(4096), false));
    });
}

TEST(Memory, FreedAddressReturnsWithNewBufferId) {
    in_child({}, [] {
        start();
        for (const size_t size : {size_t{1000}, size_t{3} << 20}) {
            const CUdeviceptr keep = allocate(size);
            const CUdeviceptr first = allocate(size);
            const unsigned long long id = buffer_id(first);
            EXPECT_NE(id, buffer_id(keep));
            EXPECT_OK(cuMemFree(first));
            const CUdeviceptr second = allocate(size);
            EXPECT_EQ(first, second);
            EXPECT_NE(id, buffer_id(second));
        }
    });
}

TEST(Memory, ReusesTheAddressFreedLastFirst) {
    in_child({}, [] {
        start();
        CUdeviceptr address[3];
        for (CUdeviceptr& each : address) {
            each = allocate(2 << 20);
        }
        EXPECT_OK(cuMemFree(address[0]));
        EXPECT_OK(cuMemFree(address[2]));
        EXPECT_EQ(allocate(2 << 20), address[2]);
        EXPECT_EQ(allocate(2 << 20), address[0]);
    });
}

TEST(Memory, ManySizesDoNotUseUpTheDevice) {
    in_child({{"SOFTCUDA_MEMORY", "67108864"}}, [] {
        start();
        size_t free_before = 0;
        size_t total = 0;
        EXPECT_OK(cuMemGetInfo(&free_before, &total));
        EXPECT_EQ(total, size_t{64} << 20);
        for (size_t size = 1; size < (3 << 20); size += 7777) {
            const CUdeviceptr address = allocate(size);
            EXPECT_OK(cuMemsetD8(address, 1, size));
            EXPECT_OK(cuMemFree(address));
        }
        size_t free_after = 0;
        EXPECT_OK(cuMemGetInfo(&free_after, &total));
        EXPECT_EQ(free_before, free_after);
        EXPECT_EQ(softcuda_live_allocations(), 0U);
    });
}

TEST(Memory, ChargesTheDevice) {
    in_child({{"SOFTCUDA_MEMORY", "67108864"}}, [] {
        start();
        CUdeviceptr address = 0;
        EXPECT_EQ(cuMemAlloc(&address, size_t{65} << 20), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(cuMemAlloc(&address, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
        const CUdeviceptr half = allocate(size_t{40} << 20);
        EXPECT_EQ(cuMemAlloc(&address, size_t{40} << 20), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_OK(cuMemFree(half));
        EXPECT_OK(cuMemAlloc(&address, size_t{40} << 20));
    });
}

TEST(Memory, RefusesBadArguments) {
    in_child({}, [] {
        CUdeviceptr address = 0;
        EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_OK(cuInit(0));
        EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
        start();
        EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
        address = allocate(4096);
        EXPECT_EQ(cuMemFree(address + 512), CUDA_ERROR_INVALID_VALUE);
        EXPECT_OK(cuMemFree(0));
        EXPECT_OK(cuMemFree(address));
        EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Memory, AddressRangeIsTheAllocation) {
    in_child({}, [] {
        start();
        const CUdeviceptr address = allocate(5000);
        CUdeviceptr base = 0;
        size_t size = 0;
        EXPECT_OK(cuMemGetAddressRange(&base, &size, address + 4999));
        EXPECT_EQ(base, address);
        EXPECT_EQ(size, 5000U);
        EXPECT_EQ(cuMemGetAddressRange(&base, &size, address + 5000), CUDA_ERROR_NOT_FOUND);
        int host = 0;
        EXPECT_EQ(cuMemGetAddressRange(&base, &size, reinterpret_cast<CUdeviceptr>(&host)),
                  CUDA_ERROR_NOT_FOUND);
    });
}

TEST(Pointer, AttributesOfEachKind) {
    in_child({}, [] {
        CUcontext context = start(1);
        void* host = nullptr;
        CUdeviceptr managed = 0;
        EXPECT_OK(cuMemHostAlloc(&host, 4096, 0));
        EXPECT_OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
        const CUdeviceptr device = allocate(4096);
        const auto pinned = reinterpret_cast<CUdeviceptr>(host);
        const struct {
            CUdeviceptr pointer;
            unsigned type;
            unsigned managed;
            unsigned ipc;
            bool host;
        } kinds[] = {{device, CU_MEMORYTYPE_DEVICE, 0, 1, false},
                     {managed, CU_MEMORYTYPE_DEVICE, 1, 0, true},
                     {pinned, CU_MEMORYTYPE_HOST, 0, 0, true}};
        for (const auto& kind : kinds) {
            const CUdeviceptr inside = kind.pointer + 100;
            EXPECT_EQ(attribute<unsigned>(inside, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), kind.type);
            EXPECT_EQ(attribute<unsigned>(inside, CU_POINTER_ATTRIBUTE_IS_MANAGED), kind.managed);
            EXPECT_EQ(attribute<unsigned>(inside, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE),
                      kind.ipc);
            EXPECT_EQ(attribute<int>(inside, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 1);
            EXPECT_EQ(attribute<CUcontext>(inside, CU_POINTER_ATTRIBUTE_CONTEXT), context);
            EXPECT_EQ(attribute<CUdeviceptr>(inside, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR),
                      kind.pointer);
            EXPECT_EQ(attribute<size_t>(inside, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 4096U);
            EXPECT_EQ(attribute<CUdeviceptr>(inside, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), inside);
            EXPECT_EQ(attribute<CUdeviceptr>(inside, CU_POINTER_ATTRIBUTE_HOST_POINTER),
                      kind.host ? inside : 0);
        }
    });
}

TEST(Pointer, UnknownPointers) {
    in_child({}, [] {
        int host = 0;
        const auto unknown = reinterpret_cast<CUdeviceptr>(&host);
        unsigned type = 77;
        unsigned long long id = 77;
        CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       CU_POINTER_ATTRIBUTE_BUFFER_ID};
        void* out[] = {&type, &id};
        EXPECT_EQ(cuPointerGetAttributes(2, which, out, unknown), CUDA_ERROR_NOT_INITIALIZED);
        start();
        EXPECT_OK(cuPointerGetAttributes(2, which, out, unknown));
        EXPECT_EQ(type, 0U);
        EXPECT_EQ(id, 0U);
        EXPECT_EQ(cuPointerGetAttribute(&type, which[0], unknown), CUDA_ERROR_INVALID_VALUE);
        const CUdeviceptr freed = allocate(4096);
        EXPECT_OK(cuMemFree(freed));
        EXPECT_EQ(cuPointerGetAttribute(&type, which[0], freed), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Pointer, SyncMemopsIsKept) {
    in_child({}, [] {
        start();
        const CUdeviceptr address = allocate(64);
        EXPECT_EQ(attribute<unsigned>(address, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 0U);
        const unsigned on = 1;
        EXPECT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
        EXPECT_EQ(attribute<unsigned>(address, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 1U);
    });
}

}  // namespace
}  // namespace softcuda_test
