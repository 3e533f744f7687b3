// SPDX-License-Identifier: BSD-3-Clause
// Registration of memory that a driver really gives, with cards of the test's own.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <filesystem>

#include "cuda/context.hpp"
#include "mover/verbs/parts.hpp"
#include "mover/verbs/regions.hpp"
#include "unit/mover/verbs/fake_verbs.hpp"

namespace beeline::mover::verbs {
namespace {

class DeviceMemory : public testing::Test {
 protected:
    void SetUp() override {
        driver_ = cuda::Driver::find();
        ASSERT_NE(driver_, nullptr);
        int exports = 0;
        ASSERT_EQ(driver_->cuDeviceGetAttribute(&exports, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0),
                  CUDA_SUCCESS);
        if (exports == 0) {
            GTEST_SKIP() << "this driver exports no dma-buf";
        }
        verbs_.add("card");
        ASSERT_EQ(devices_.open(verbs_.api(), {}, "/nowhere"), Status::kOk);
        regions_ = std::make_unique<Regions>(devices_.ports(), RegionLimits{});
    }
    CUdeviceptr allocate(std::size_t bytes) {
        CUdeviceptr address = 0;
        EXPECT_EQ(driver_->cuMemAlloc(&address, bytes), CUDA_SUCCESS);
        return address;
    }
    /// Uses the memory once; the region as it was then.
    Region use(CUdeviceptr address, std::size_t bytes) {
        auto got = regions_->acquire(memory::classify(reinterpret_cast<void*>(address)), address,
                                     bytes, 1);
        EXPECT_TRUE(got.ok()) << to_string(regions_->refusal().missing);
        if (!got) {
            return {};
        }
        const Region seen = **got;
        regions_->release(*got);
        return seen;
    }

    const cuda::Driver* driver_ = nullptr;
    test::FakeVerbs verbs_;
    Devices devices_;
    std::unique_ptr<Regions> regions_;
};

TEST_F(DeviceMemory, OfAllSizesIsRegisteredWhole) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{513}, std::size_t{5000},
                                    std::size_t{3} << 20, std::size_t{64} << 20}) {
        const CUdeviceptr address = allocate(bytes);
        const Region region = use(address + bytes / 2, 1);
        EXPECT_TRUE(region.contains(address, bytes)) << bytes;
        EXPECT_EQ(region.means, Means::kDmaBuf);
        EXPECT_EQ(use(address, bytes).keys[0].local, region.keys[0].local);
        driver_->cuMemFree(address);
    }
    EXPECT_EQ(regions_->counters().registrations, 5U);
    EXPECT_EQ(regions_->counters().hits, 5U);
}

TEST_F(DeviceMemory, AnAddressThatIsUsedAgainIsRegisteredAnew) {
    std::uint64_t reused = 0;
    CUdeviceptr before = 0;
    std::uint32_t key = 0;
    for (int round = 0; round < 50; ++round) {
        const CUdeviceptr address = allocate(4 << 20);
        const Region region = use(address, 4 << 20);
        if (address == before) {
            ++reused;
            EXPECT_NE(region.keys[0].local, key);
        }
        before = address;
        key = region.keys[0].local;
        driver_->cuMemFree(address);
    }
    EXPECT_GT(reused, 0U) << "or the test shows nothing";
    EXPECT_LE(verbs_.most_alive(), 6U) << "freed memory does not stay registered";
}

TEST_F(DeviceMemory, TenThousandBuffersLeaveNoDescriptor) {
    const auto descriptors = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    RegionLimits limits;
    limits.entries = 64;
    regions_ = std::make_unique<Regions>(devices_.ports(), limits);
    std::vector<CUdeviceptr> buffers;
    for (int i = 0; i < 1000; ++i) {
        buffers.push_back(allocate(4096));
    }
    const auto before = descriptors();
    for (int round = 0; round < 10; ++round) {
        for (const CUdeviceptr buffer : buffers) {
            use(buffer, 4096);
        }
    }
    EXPECT_EQ(descriptors(), before);
    EXPECT_EQ(regions_->entries(), 64U);
    EXPECT_EQ(verbs_.most_alive(), 64U);
    for (const CUdeviceptr buffer : buffers) {
        driver_->cuMemFree(buffer);
    }
}

TEST_F(DeviceMemory, PartsOfMappingsAreFound) {
    auto* create = reinterpret_cast<decltype(&::cuMemCreate)>(dlsym(RTLD_DEFAULT, "cuMemCreate"));
    if (create == nullptr) {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        create = library != nullptr
                     ? reinterpret_cast<decltype(create)>(dlsym(library, "cuMemCreate"))
                     : nullptr;
    }
    ASSERT_NE(create, nullptr);
    constexpr std::size_t kUnit = 2 << 20;
    CUdeviceptr range = 0;
    ASSERT_EQ(driver_->cuMemAddressReserve(&range, 4 * kUnit, 0, 0, 0), CUDA_SUCCESS);
    const auto fill = [&](CUdeviceptr at, bool capable) {
        CUmemAllocationProp wanted{};
        wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        wanted.allocFlags.gpuDirectRDMACapable = capable ? 1 : 0;
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(create(&handle, kUnit, &wanted, 0), CUDA_SUCCESS);
        EXPECT_EQ(driver_->cuMemMap(at, kUnit, 0, handle, 0), CUDA_SUCCESS);
        driver_->cuMemRelease(handle);
        CUmemAccessDesc grant{};
        grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        EXPECT_EQ(driver_->cuMemSetAccess(at, kUnit, &grant, 1), CUDA_SUCCESS);
    };
    fill(range, true);
    fill(range + kUnit, true);
    Region region = use(range + kUnit - 64, 128);
    EXPECT_EQ(region.base, range);
    EXPECT_EQ(region.bytes, 2 * kUnit);
    fill(range + 2 * kUnit, true);
    fill(range + 3 * kUnit, false);  // not for cards
    region = use(range, 3 * kUnit);
    EXPECT_EQ(region.bytes, 3 * kUnit);
    const CUdeviceptr last = range + 3 * kUnit;
    EXPECT_FALSE(
        regions_->acquire(memory::classify(reinterpret_cast<void*>(last)), last, 64, 1).ok());
    EXPECT_EQ(regions_->refusal().missing, Missing::kVmmSupport);
    driver_->cuMemUnmap(range + kUnit, kUnit);
    fill(range + kUnit, true);
    const std::uint64_t before = regions_->counters().registrations;
    use(range, kUnit);
    EXPECT_EQ(regions_->counters().registrations, before) << "not what was replaced";
    use(range, 2 * kUnit);
    EXPECT_EQ(regions_->counters().registrations, before + 1);
    driver_->cuMemUnmap(range, 4 * kUnit);
    regions_->recheck(8);
    EXPECT_EQ(verbs_.alive(), 0U);
    driver_->cuMemAddressFree(range, 4 * kUnit);
}

}  // namespace
}  // namespace beeline::mover::verbs
