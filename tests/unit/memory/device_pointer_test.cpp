// SPDX-License-Identifier: BSD-3-Clause
// What each kind of memory is classified as.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "memory/always_host.hpp"
#include "memory/pointer.hpp"
#include "tests/world/device_memory.hpp"

// The name as the driver exports it, after cuda.h's macros.
#define BEELINE_STRING(name) #name
#define BEELINE_STRING_OF(name) BEELINE_STRING(name)
#define BEELINE_FUNCTION(name) \
    reinterpret_cast<decltype(&name)>(world::software_entry(BEELINE_STRING_OF(name)))

namespace beeline::memory {
namespace {

const cuda::Driver& driver() {
    return *cuda::Driver::find();
}

CUcontext current() {
    CUcontext context = nullptr;
    driver().cuCtxGetCurrent(&context);
    return context;
}

TEST(DevicePointer, HostMemoryStaysHost) {
    int local = 0;
    std::vector<int> heap(100);
    for (const void* pointer :
         {static_cast<const void*>(&local), static_cast<const void*>(heap.data()),
          static_cast<const void*>(nullptr)}) {
        EXPECT_EQ(classify(pointer).kind, Kind::kHost);
        EXPECT_FALSE(classify(pointer).on_device());
    }
}

TEST(DevicePointer, WhatAScopeKnowsIsNotAskedAbout) {
    CUdeviceptr address = 0;
    ASSERT_EQ(driver().cuMemAlloc(&address, 10000), CUDA_SUCCESS);
    const auto at = [&](std::size_t offset) { return reinterpret_cast<void*>(address + offset); };
    const Pointer places[] = {Pointer{}, classify(at(0))};
    driver().cuMemFree(address);
    int local = 0;
    {
        // Freed memory shows that the driver is not asked.
        const KnownScope outer(places);
        EXPECT_EQ(classify(at(0)).buffer_id, places[1].buffer_id);
        EXPECT_EQ(classify(at(9999)).buffer_id, places[1].buffer_id);
        EXPECT_EQ(classify(&local).kind, Kind::kHost);
        std::thread([&] { EXPECT_EQ(classify(at(0)).kind, Kind::kHost); }).join();
        {
            const KnownScope inner({});
            EXPECT_EQ(classify(at(0)).kind, Kind::kHost);
        }
        EXPECT_TRUE(classify(at(1)).on_device());
    }
    EXPECT_EQ(classify(at(0)).kind, Kind::kHost);
}

TEST(DevicePointer, DeviceMemoryWithItsAllocation) {
    CUdeviceptr address = 0;
    ASSERT_EQ(driver().cuMemAlloc(&address, 10000), CUDA_SUCCESS);
    for (const std::size_t offset : {0U, 1U, 9999U}) {
        const Pointer pointer = classify(reinterpret_cast<void*>(address + offset));
        EXPECT_FALSE(always_host(reinterpret_cast<void*>(address + offset)));
        EXPECT_EQ(pointer.kind, Kind::kDevice);
        EXPECT_TRUE(pointer.on_device());
        EXPECT_EQ(pointer.device, 0);
        EXPECT_EQ(pointer.context, current());
        EXPECT_EQ(pointer.base, address);
        EXPECT_GE(pointer.size, 10000U);
        EXPECT_NE(pointer.buffer_id, 0U);
        EXPECT_TRUE(pointer.ipc_capable);
        EXPECT_EQ(pointer.driver, &driver());
    }
    const std::uint64_t id = classify(reinterpret_cast<void*>(address)).buffer_id;
    driver().cuMemFree(address);
    EXPECT_EQ(classify(reinterpret_cast<void*>(address)).kind, Kind::kHost)
        << "freed: nothing of CUDA's";
    CUdeviceptr next = 0;
    ASSERT_EQ(driver().cuMemAlloc(&next, 10000), CUDA_SUCCESS);
    EXPECT_NE(classify(reinterpret_cast<void*>(next)).buffer_id, id);
    driver().cuMemFree(next);
}

TEST(DevicePointer, ManagedMemoryIsOnTheDeviceButNotExported) {
    CUdeviceptr address = 0;
    ASSERT_EQ(BEELINE_FUNCTION(cuMemAllocManaged)(&address, 5000, CU_MEM_ATTACH_GLOBAL),
              CUDA_SUCCESS);
    const Pointer pointer = classify(reinterpret_cast<void*>(address));
    EXPECT_EQ(pointer.kind, Kind::kManaged);
    EXPECT_TRUE(pointer.on_device());
    EXPECT_FALSE(pointer.ipc_capable);
    EXPECT_NE(pointer.context, nullptr);
    driver().cuMemFree(address);
}

TEST(DevicePointer, PinnedAndRegisteredMemoryIsTheHosts) {
    void* pinned = nullptr;
    ASSERT_EQ(BEELINE_FUNCTION(cuMemHostAlloc)(&pinned, 5000, 0), CUDA_SUCCESS);
    EXPECT_EQ(classify(pinned).kind, Kind::kPinned);
    EXPECT_FALSE(classify(pinned).on_device());
    BEELINE_FUNCTION(cuMemFreeHost)(pinned);
    void* plain = std::aligned_alloc(4096, 8192);
    EXPECT_EQ(classify(plain).kind, Kind::kHost);
    ASSERT_EQ(driver().cuMemHostRegister(plain, 8192, 0), CUDA_SUCCESS);
    EXPECT_EQ(classify(plain).kind, Kind::kPinned);
    ASSERT_EQ(driver().cuMemHostUnregister(plain), CUDA_SUCCESS);
    EXPECT_EQ(classify(plain).kind, Kind::kHost);
    std::free(plain);
}

TEST(DevicePointer, PoolMemoryHasAContextAllTheSame) {
    CUdeviceptr address = 0;
    ASSERT_EQ(BEELINE_FUNCTION(cuMemAllocAsync)(&address, 5000, nullptr), CUDA_SUCCESS);
    const Pointer pointer = classify(reinterpret_cast<void*>(address));
    EXPECT_EQ(pointer.kind, Kind::kDevice);
    EXPECT_FALSE(pointer.ipc_capable);
    EXPECT_NE(pointer.context, nullptr) << "the device's primary one";
    BEELINE_FUNCTION(cuMemFreeAsync)(address, nullptr);
    driver().cuStreamSynchronize(nullptr);
}

TEST(DevicePointer, MappedVirtualMemoryHasAContextAllTheSame) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    constexpr std::size_t kBytes = 2 << 20;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    ASSERT_EQ(BEELINE_FUNCTION(cuMemCreate)(&handle, kBytes, &prop, 0), CUDA_SUCCESS);
    ASSERT_EQ(BEELINE_FUNCTION(cuMemAddressReserve)(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(BEELINE_FUNCTION(cuMemMap)(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASSERT_EQ(BEELINE_FUNCTION(cuMemSetAccess)(address, kBytes, &access, 1), CUDA_SUCCESS);
    const Pointer pointer = classify(reinterpret_cast<void*>(address + 77));
    EXPECT_EQ(pointer.kind, Kind::kDevice);
    EXPECT_FALSE(pointer.ipc_capable);
    EXPECT_NE(pointer.context, nullptr);
    BEELINE_FUNCTION(cuMemUnmap)(address, kBytes);
    BEELINE_FUNCTION(cuMemAddressFree)(address, kBytes);
    BEELINE_FUNCTION(cuMemRelease)(handle);
}

TEST(DevicePointer, TheCallersContextIsLeftAlone) {
    const CUcontext before = current();
    CUdeviceptr address = 0;
    ASSERT_EQ(driver().cuMemAlloc(&address, 100), CUDA_SUCCESS);
    EXPECT_EQ(classify(reinterpret_cast<void*>(address)).kind, Kind::kDevice);
    EXPECT_EQ(current(), before);
    std::thread([&] {
        EXPECT_EQ(classify(reinterpret_cast<void*>(address)).kind, Kind::kDevice)
            << "no context needs to be current";
        EXPECT_EQ(current(), nullptr);
    }).join();
    driver().cuMemFree(address);
}

}  // namespace
}  // namespace beeline::memory
