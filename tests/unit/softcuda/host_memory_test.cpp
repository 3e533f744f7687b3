// SPDX-License-Identifier: BSD-3-Clause
// Page-locked, registered and managed memory.
#include "support.hpp"

namespace softcuda_test {
namespace {

TEST(HostMemory, AllocatedMemoryIsMapped) {
    in_child({}, [] {
        start();
        void* host = nullptr;
        EXPECT_OK(cuMemHostAlloc(&host, 10000, CU_MEMHOSTALLOC_WRITECOMBINED));
        static_cast<char*>(host)[9999] = 7;
        CUdeviceptr mapped = 0;
        EXPECT_OK(cuMemHostGetDevicePointer(&mapped, static_cast<char*>(host) + 9999, 0));
        const CUdeviceptr device = allocate(1);
        EXPECT_OK(cuMemcpyDtoD(device, mapped, 1));
        EXPECT_EQ(bytes_at(device, 1)[0], 7);
        unsigned flags = 0;
        EXPECT_OK(cuMemHostGetFlags(&flags, host));
        EXPECT_NE(flags & CU_MEMHOSTALLOC_WRITECOMBINED, 0U);
        EXPECT_EQ(cuMemFreeHost(static_cast<char*>(host) + 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_OK(cuMemFreeHost(host));
        EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(HostMemory, RegistrationRules) {
    in_child({}, [] {
        start();
        std::vector<char> memory(100000);
        char* start_of = memory.data();
        EXPECT_EQ(cuMemHostUnregister(start_of), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        EXPECT_OK(cuMemHostRegister(start_of, 50000, 0));
        EXPECT_EQ(cuMemHostRegister(start_of + 100, 100, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        EXPECT_EQ(cuMemHostRegister(start_of + 49999, 100, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        EXPECT_EQ(attribute<unsigned>(reinterpret_cast<CUdeviceptr>(start_of + 10),
                                      CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
                  unsigned{CU_MEMORYTYPE_HOST});
        EXPECT_OK(cuMemHostUnregister(start_of));
        EXPECT_EQ(cuMemHostRegister(nullptr, 10, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(allocate(4096)), 4096, 0),
                  CUDA_ERROR_INVALID_VALUE);
        CUdeviceptr mapped = 0;
        EXPECT_EQ(cuMemHostGetDevicePointer(&mapped, start_of, 0), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(ManagedMemory, HostAndDeviceUseOneAddress) {
    in_child({}, [] {
        start();
        CUdeviceptr managed = 0;
        EXPECT_EQ(cuMemAllocManaged(&managed, 100, 0), CUDA_ERROR_INVALID_VALUE);
        ASSERT_OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
        EXPECT_OK(cuMemsetD8(managed, 9, 100));
        EXPECT_OK(cuCtxSynchronize());
        EXPECT_EQ(reinterpret_cast<char*>(managed)[99], 9);
        EXPECT_OK(cuMemPrefetchAsync(managed, 100, {CU_MEM_LOCATION_TYPE_DEVICE, 1}, 0, nullptr));
        EXPECT_EQ(cuMemPrefetchAsync(managed, 101, {CU_MEM_LOCATION_TYPE_DEVICE, 1}, 0, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        CUipcMemHandle handle;
        EXPECT_EQ(cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
        EXPECT_OK(cuMemFree(managed));
        EXPECT_EQ(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
    });
}

}  // namespace
}  // namespace softcuda_test
