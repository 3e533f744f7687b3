// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory management and memory pools.
#include <fcntl.h>
#include <string.h>

#include "support.hpp"

namespace softcuda_test {
namespace {

constexpr size_t kUnit = 2 << 20;

CUmemAllocationProp pinned_on(int device) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

CUmemAccessDesc access_for(int device) {
    return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

/** Sends a descriptor to another process. */
void send_fd(int socket, int fd) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    EXPECT_EQ(sendmsg(socket, &message, 0), 1);
}

int receive_fd(int socket) {
    char byte = 0;
    iovec data{&byte, 1};
    int fd = -1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(recvmsg(socket, &message, 0), 1);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

TEST(Vmm, RdmaCapableWhereAskedFor) {
    for (const char* allowed : {"0", "1"}) {
        in_child({{"SOFTCUDA_HOST_ACCESS", allowed}}, [allowed] {
            start();
            CUdeviceptr range = 0;
            EXPECT_OK(cuMemAddressReserve(&range, 2 * kUnit, 0, 0, 0));
            for (const unsigned char asked : {0, 1}) {
                CUmemAllocationProp prop = pinned_on(0);
                prop.allocFlags.gpuDirectRDMACapable = asked;
                CUmemGenericAllocationHandle handle = 0;
                EXPECT_OK(cuMemCreate(&handle, kUnit, &prop, 0));
                const CUdeviceptr address = range + asked * kUnit;
                EXPECT_OK(cuMemMap(address, kUnit, 0, handle, 0));
                EXPECT_EQ(
                    attribute<unsigned>(address, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE),
                    *allowed == '1' ? asked : 0U);
            }
        });
    }
}

TEST(Vmm, MapAccessUnmap) {
    in_child({}, [] {
        start();
        const CUmemAllocationProp prop = pinned_on(0);
        size_t unit = 0;
        EXPECT_OK(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        EXPECT_EQ(unit, kUnit);
        CUdeviceptr range = 0;
        ASSERT_OK(cuMemAddressReserve(&range, 2 * kUnit, 0, 0, 0));
        CUmemGenericAllocationHandle half[2];
        const CUmemAccessDesc access = access_for(0);
        EXPECT_EQ(cuMemCreate(&half[0], kUnit + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
        for (int i = 0; i < 2; ++i) {
            ASSERT_OK(cuMemCreate(&half[i], kUnit, &prop, 0));
            ASSERT_OK(cuMemMap(range + i * kUnit, kUnit, 0, half[i], 0));
        }
        EXPECT_EQ(cuMemMap(range, kUnit, 0, half[0], 0), CUDA_ERROR_ALREADY_MAPPED);
        ASSERT_OK(cuMemSetAccess(range, 2 * kUnit, &access, 1));
        EXPECT_OK(cuMemsetD8(range + kUnit - 8, 4, 16));  // across both mappings
        EXPECT_EQ(bytes_at(range + kUnit - 8, 16), std::vector<unsigned char>(16, 4));

        EXPECT_EQ(attribute<CUcontext>(range, CU_POINTER_ATTRIBUTE_CONTEXT), nullptr);
        EXPECT_EQ(attribute<unsigned>(range, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
                  unsigned{CU_MEMORYTYPE_DEVICE});
        EXPECT_EQ(attribute<uint64_t>(range, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES),
                  uint64_t{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
        CUipcMemHandle handle;
        EXPECT_EQ(cuIpcGetMemHandle(&handle, range), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemFree(range), CUDA_ERROR_INVALID_VALUE);

        EXPECT_OK(cuMemRelease(half[0]));  // the mapping keeps the memory
        CUmemGenericAllocationHandle again = 0;
        EXPECT_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range)));
        EXPECT_EQ(again, half[0]);
        EXPECT_OK(cuMemRelease(again));
        EXPECT_EQ(cuMemAddressFree(range, 2 * kUnit), CUDA_ERROR_INVALID_VALUE);
        EXPECT_OK(cuMemUnmap(range, 2 * kUnit));
        EXPECT_OK(cuMemRelease(half[1]));
        EXPECT_OK(cuMemAddressFree(range, 2 * kUnit));
        EXPECT_EQ(softcuda_live_allocations(), 0U);
    });
}

TEST(Vmm, AccessIsPerDevice) {
    in_child({}, [] {
        start(0);
        const CUmemAllocationProp prop = pinned_on(0);
        CUdeviceptr range = 0;
        CUmemGenericAllocationHandle handle = 0;
        ASSERT_OK(cuMemAddressReserve(&range, kUnit, 0, 0, 0));
        ASSERT_OK(cuMemCreate(&handle, kUnit, &prop, 0));
        ASSERT_OK(cuMemMap(range, kUnit, 0, handle, 0));
        const CUmemAccessDesc second = access_for(1);
        ASSERT_OK(cuMemSetAccess(range, kUnit, &second, 1));
        unsigned long long flags = 99;
        const CUmemLocation first = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        EXPECT_OK(cuMemGetAccess(&flags, &first, range));
        EXPECT_EQ(flags, 0U);
        start(1);
        EXPECT_OK(cuMemsetD8(range, 1, 16));
        EXPECT_OK(cuCtxSynchronize());
        start(0);  // was given no access
        EXPECT_EQ(cuMemsetD8(range, 1, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

TEST(Vmm, SharedByDescriptor) {
    in_pair(
        [](Peer peer) {
            start(0);
            const CUmemAllocationProp prop = pinned_on(0);
            const CUmemAccessDesc access = access_for(0);
            CUdeviceptr range = 0;
            CUmemGenericAllocationHandle handle = 0;
            ASSERT_OK(cuMemAddressReserve(&range, kUnit, 0, 0, 0));
            ASSERT_OK(cuMemCreate(&handle, kUnit, &prop, 0));
            ASSERT_OK(cuMemMap(range, kUnit, 0, handle, 0));
            ASSERT_OK(cuMemSetAccess(range, kUnit, &access, 1));
            int fd = -1;
            ASSERT_OK(cuMemExportToShareableHandle(&fd, handle,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
            send_fd(peer.socket(), fd);
            close(fd);
            peer.barrier();
            EXPECT_EQ(bytes_at(range, 10), std::vector<unsigned char>(10, 0x5a));
        },
        [](Peer peer) {
            start(1);
            const int fd = receive_fd(peer.socket());
            CUmemGenericAllocationHandle handle = 0;
            void* as_pointer = reinterpret_cast<void*>(static_cast<intptr_t>(fd));
            ASSERT_OK(cuMemImportFromShareableHandle(&handle, as_pointer,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
            const CUmemAccessDesc access = access_for(1);
            CUdeviceptr range = 0;
            ASSERT_OK(cuMemAddressReserve(&range, kUnit, 0, 0, 0));
            ASSERT_OK(cuMemMap(range, kUnit, 0, handle, 0));
            ASSERT_OK(cuMemSetAccess(range, kUnit, &access, 1));
            EXPECT_OK(cuMemsetD8(range, 0x5a, kUnit));
            EXPECT_OK(cuCtxSynchronize());
            const int unrelated = open("/dev/null", O_RDWR);
            as_pointer = reinterpret_cast<void*>(static_cast<intptr_t>(unrelated));
            EXPECT_EQ(cuMemImportFromShareableHandle(&handle, as_pointer,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                      CUDA_ERROR_INVALID_VALUE);
            peer.barrier();
        });
}

TEST(Pool, AllocationsFollowTheirStream) {
    in_child({}, [] {
        start();
        CUstream stream = nullptr;
        EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CUdeviceptr address = 0;
        ASSERT_OK(cuMemAllocAsync(&address, 5000, stream));
        CUmemoryPool pool = nullptr;
        EXPECT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
        EXPECT_EQ(attribute<CUmemoryPool>(address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), pool);
        EXPECT_EQ(attribute<CUcontext>(address, CU_POINTER_ATTRIBUTE_CONTEXT), nullptr);
        EXPECT_EQ(attribute<unsigned>(address, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE),
                  0U);
        CUipcMemHandle handle;
        EXPECT_EQ(cuIpcGetMemHandle(&handle, address), CUDA_ERROR_INVALID_VALUE);
        {
            HeldStream held(stream);
            EXPECT_OK(cuMemFreeAsync(address, stream));
            EXPECT_OK(cuMemsetD8(address, 1, 5000));  // not freed before its turn
            held.release();
            EXPECT_OK(cuStreamSynchronize(stream));
        }
        EXPECT_EQ(cuMemsetD8(address, 1, 5000), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
        uint64_t used = 9;
        EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        EXPECT_EQ(used, 0U);
    });
}

TEST(Pool, SharedPointers) {
    in_pair(
        [](Peer peer) {
            start();
            CUmemPoolProps props{};
            props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
            props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
            props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
            CUmemoryPool pool = nullptr;
            ASSERT_OK(cuMemPoolCreate(&pool, &props));
            CUdeviceptr address = 0;
            ASSERT_OK(cuMemAllocFromPoolAsync(&address, 5000, pool, nullptr));
            EXPECT_OK(cuMemsetD8(address, 0x77, 5000));
            EXPECT_OK(cuCtxSynchronize());
            int fd = -1;
            ASSERT_OK(cuMemPoolExportToShareableHandle(
                &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
            CUmemPoolPtrExportData data;
            ASSERT_OK(cuMemPoolExportPointer(&data, address));
            send_fd(peer.socket(), fd);
            peer.send(data);
            peer.barrier();
        },
        [](Peer peer) {
            start();
            const int fd = receive_fd(peer.socket());
            auto data = peer.receive<CUmemPoolPtrExportData>();
            CUmemoryPool pool = nullptr;
            ASSERT_OK(cuMemPoolImportFromShareableHandle(
                &pool, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
            CUdeviceptr address = 0;
            ASSERT_OK(cuMemPoolImportPointer(&address, pool, &data));
            EXPECT_EQ(bytes_at(address, 5000), std::vector<unsigned char>(5000, 0x77));
            EXPECT_OK(cuMemFreeAsync(address, nullptr));
            EXPECT_OK(cuStreamSynchronize(nullptr));
            EXPECT_EQ(softcuda_open_ipc_handles(), 0);
            peer.barrier();
        });
}

}  // namespace
}  // namespace softcuda_test
