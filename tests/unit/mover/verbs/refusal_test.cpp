// SPDX-License-Identifier: BSD-3-Clause
// From error numbers to what is missing, and when writes must be flushed.
#include "mover/verbs/refusal.hpp"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "mover/verbs/ordering.hpp"
#include "unit/mover/verbs/fake_gpu.hpp"

namespace beeline::mover::verbs {
namespace {

TEST(Refusal, ErrorsOfPeerMemoryWithoutTheModule) {
    for (const int error : {EFAULT, EINVAL, EOPNOTSUPP}) {
        EXPECT_EQ(missing_of(Means::kPeerMemory, error, {}), Missing::kModule) << error;
    }
    EXPECT_EQ(missing_of(Means::kDmaBuf, EOPNOTSUPP, {}), Missing::kModule);
    EXPECT_EQ(missing_of(Means::kHost, EFAULT, {}), Missing::kUnknown);
}

TEST(Refusal, OutOfMemoryIsALimit) {
    Circumstances now;
    now.bytes = 4096;
    EXPECT_EQ(missing_of(Means::kDmaBuf, ENOMEM, now), Missing::kBar);
    EXPECT_EQ(missing_of(Means::kPeerMemory, ENOMEM, now), Missing::kBar);
    EXPECT_EQ(missing_of(Means::kHost, ENOMEM, now), Missing::kDeviceLimit);
    now.locked_limit = 65536;
    now.locked = 65536 - 4096;
    EXPECT_EQ(missing_of(Means::kHost, ENOMEM, now), Missing::kDeviceLimit) << "it would have fit";
    now.locked += 1;
    EXPECT_EQ(missing_of(Means::kHost, ENOMEM, now), Missing::kLockedMemory);
    EXPECT_EQ(missing_of(Means::kPeerMemory, ENOMEM, now), Missing::kLockedMemory);
    EXPECT_EQ(missing_of(Means::kDmaBuf, ENOMEM, now), Missing::kBar) << "not counted there";
    now.locked = 1 << 20;
    EXPECT_EQ(missing_of(Means::kHost, ENOMEM, now), Missing::kLockedMemory);
}

TEST(Refusal, OtherLimits) {
    EXPECT_EQ(missing_of(Means::kHost, EMFILE, {}), Missing::kDescriptors);
    EXPECT_EQ(missing_of(Means::kHost, ENOSPC, {}), Missing::kDeviceLimit);
    EXPECT_EQ(missing_of(Means::kHost, EACCES, {}), Missing::kPermission);
    EXPECT_EQ(missing_of(Means::kHost, EPIPE, {}), Missing::kUnknown);
    Circumstances now;
    now.bytes = 2;
    now.max_mr_size = 1;
    EXPECT_EQ(missing_of(Means::kDmaBuf, EINVAL, now), Missing::kDeviceLimit);
    now = {};
    now.is_vmm = true;
    EXPECT_EQ(missing_of(Means::kPeerMemory, EFAULT, now), Missing::kModule);
    now.vmm_supported = false;
    EXPECT_EQ(missing_of(Means::kPeerMemory, EFAULT, now), Missing::kVmmSupport);
}

TEST(Refusal, ALimitWeighsMoreThanAMissingMeans) {
    const Refusal module{Missing::kModule, EFAULT, Means::kPeerMemory};
    const Refusal bar{Missing::kBar, ENOMEM, Means::kDmaBuf};
    EXPECT_EQ(weightier(bar, module).missing, Missing::kBar);
    EXPECT_EQ(weightier(module, bar).missing, Missing::kBar);
    EXPECT_EQ(weightier({}, module).missing, Missing::kModule);
}

TEST(Refusal, EachKindHasItsWords) {
    for (unsigned kind = 0; kind < kMissingKinds; ++kind) {
        const auto missing = static_cast<Missing>(kind);
        ASSERT_NE(to_string(missing), nullptr);
        EXPECT_GT(std::strlen(remedy(missing)), 5U);
        for (unsigned other = 0; other < kind; ++other) {
            EXPECT_STRNE(to_string(missing), to_string(static_cast<Missing>(other)));
        }
    }
    EXPECT_NE(std::strstr(remedy(Missing::kModule), "nvidia-peermem"), nullptr);
    EXPECT_NE(std::strstr(remedy(Missing::kLockedMemory), "ulimit -l"), nullptr);
    EXPECT_NE(std::strstr(remedy(Missing::kBar), "Above 4G"), nullptr);
}

TEST(Ordering, AFlushIsNeededWhereTheDeviceDoesNotOrder) {
    const WriteOrdering none{0, 1};
    const WriteOrdering owner{100, 1};
    const WriteOrdering all{200, 0};
    const WriteOrdering old{0, 0};
    EXPECT_EQ(flush_needed(none, Reader::kOwner), Flush::kCall);
    EXPECT_EQ(flush_needed(owner, Reader::kOwner), Flush::kNone);
    EXPECT_EQ(flush_needed(owner, Reader::kAllDevices), Flush::kCall);
    EXPECT_EQ(flush_needed(all, Reader::kAllDevices), Flush::kNone);
    EXPECT_EQ(flush_needed(old, Reader::kOwner), Flush::kRead);
    EXPECT_EQ(flush_needed({0, 2}, Reader::kOwner), Flush::kRead) << "stream operations alone";
}

TEST(Ordering, TheDeviceIsAsked) {
    test::FakeGpu gpu;
    gpu.attributes[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING] = 100;
    gpu.attributes[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS] = 3;
    const memory::Pointer where = gpu.allocate(0x10000, 4096);
    EXPECT_EQ(write_ordering_of(where).ordering, 100);
    EXPECT_EQ(write_ordering_of(where).flush_options, 0U) << "this driver has no such call";
    EXPECT_EQ(flush_writes(where, Reader::kOwner), Status::kUnsupported);
    static int scope = 0;
    gpu.driver().cuFlushGPUDirectRDMAWrites = [](CUflushGPUDirectRDMAWritesTarget,
                                                 CUflushGPUDirectRDMAWritesScope wanted) {
        scope = wanted;
        return CUDA_SUCCESS;
    };
    EXPECT_EQ(write_ordering_of(where).flush_options, 3U);
    EXPECT_EQ(flush_writes(where, Reader::kOwner), Status::kOk);
    EXPECT_EQ(scope, 100);
    EXPECT_EQ(flush_writes(where, Reader::kAllDevices), Status::kOk);
    EXPECT_EQ(scope, 200);
}

}  // namespace
}  // namespace beeline::mover::verbs
