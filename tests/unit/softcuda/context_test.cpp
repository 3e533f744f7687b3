// SPDX-License-Identifier: BSD-3-Clause
// Contexts: threads, primary and user ones, destruction, peers, lost contexts.
#include <thread>

#include "support.hpp"

namespace softcuda_test {
namespace {

TEST(Context, EachThreadHasItsOwn) {
    in_child({}, [] {
        CUcontext context = start();
        const CUdeviceptr address = allocate(64);
        std::thread([&] {
            CUcontext seen = context;
            EXPECT_OK(cuCtxGetCurrent(&seen));
            EXPECT_EQ(seen, nullptr);
            EXPECT_EQ(cuMemsetD8(address, 0, 64), CUDA_ERROR_INVALID_CONTEXT);
            EXPECT_OK(cuCtxSetCurrent(context));
            EXPECT_OK(cuMemsetD8(address, 0, 64));
        }).join();
    });
}

TEST(Context, StackOfAThread) {
    in_child({}, [] {
        CUcontext primary = start(0);
        CUcontext user = nullptr;
        EXPECT_OK(cuCtxCreate_v2(&user, 0, 1));
        CUdevice device = -1;
        EXPECT_OK(cuCtxGetDevice(&device));
        EXPECT_EQ(device, 1);
        CUcontext popped = nullptr;
        EXPECT_OK(cuCtxPopCurrent(&popped));
        EXPECT_EQ(popped, user);
        EXPECT_OK(cuCtxGetCurrent(&popped));
        EXPECT_EQ(popped, primary);
        EXPECT_OK(cuCtxPushCurrent(user));
        EXPECT_OK(cuCtxSetCurrent(nullptr));
        EXPECT_OK(cuCtxGetCurrent(&popped));
        EXPECT_EQ(popped, primary);
        EXPECT_OK(cuCtxPopCurrent(nullptr));
        EXPECT_EQ(cuCtxPopCurrent(nullptr), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST(Context, PrimaryIsCounted) {
    in_child({}, [] {
        EXPECT_OK(cuInit(0));
        unsigned flags = 0;
        int active = -1;
        EXPECT_OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
        EXPECT_EQ(active, 0);
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        EXPECT_OK(cuDevicePrimaryCtxRetain(&first, 1));
        EXPECT_OK(cuDevicePrimaryCtxRetain(&second, 1));
        EXPECT_EQ(first, second);
        EXPECT_OK(cuDevicePrimaryCtxRelease(1));
        EXPECT_OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
        EXPECT_EQ(active, 1);
        EXPECT_OK(cuDevicePrimaryCtxRelease(1));
        EXPECT_OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
        EXPECT_EQ(active, 0);
        EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 2), CUDA_ERROR_INVALID_DEVICE);
    });
}

TEST(Context, ResetKillsWhatItOwned) {
    in_child({}, [] {
        CUcontext context = start();
        CUstream stream = nullptr;
        CUevent event = nullptr;
        EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        EXPECT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        const CUdeviceptr address = allocate(4096);
        EXPECT_OK(cuMemsetD8Async(address, 1, 4096, stream));
        EXPECT_OK(cuDevicePrimaryCtxReset(0));
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(cuMemFree(address), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(cuCtxPushCurrent(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(softcuda_live_allocations(), 0U);
        start();  // comes to life again
        EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
        allocate(16);
    });
}

TEST(Context, UserContextsDie) {
    in_child({}, [] {
        EXPECT_OK(cuInit(0));
        CUcontext user = nullptr;
        EXPECT_OK(cuCtxCreate(&user, nullptr, CU_CTX_SCHED_YIELD, 0));
        unsigned flags = 0;
        EXPECT_OK(cuCtxGetFlags(&flags));
        EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_YIELD});
        allocate(64);
        std::thread([&] {
            EXPECT_OK(cuCtxSetCurrent(user));
            std::thread([&] { EXPECT_OK(cuCtxDestroy(user)); }).join();
            EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }).join();
        EXPECT_EQ(cuCtxDestroy(user), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(softcuda_live_allocations(), 0U);
        CUcontext primary = start();
        EXPECT_EQ(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&flags)), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST(Peers, AccessIsDirectedAndEnabledOnce) {
    in_child({}, [] {
        CUcontext second = start(1);
        CUcontext first = start(0);
        int can = 0;
        EXPECT_OK(cuDeviceCanAccessPeer(&can, 0, 1));
        EXPECT_EQ(can, 1);
        EXPECT_OK(cuDeviceCanAccessPeer(&can, 0, 0));
        EXPECT_EQ(can, 0);
        EXPECT_EQ(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        EXPECT_OK(cuCtxEnablePeerAccess(second, 0));
        EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        EXPECT_EQ(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_OK(cuCtxDisablePeerAccess(second));
    });
    in_child({{"SOFTCUDA_TOPOLOGY", "none"}}, [] {
        CUcontext second = start(1);
        start(0);
        int can = 1;
        EXPECT_OK(cuDeviceCanAccessPeer(&can, 0, 1));
        EXPECT_EQ(can, 0);
        EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    });
}

TEST(Peers, TopologyRanksLinks) {
    for (const auto& [topology, atomics] : {std::pair{"nvlink", 1}, std::pair{"pcie", 0}}) {
        in_child({{"SOFTCUDA_TOPOLOGY", topology}}, [atomics = atomics] {
            start();
            int value = -1;
            EXPECT_OK(cuDeviceGetP2PAttribute(
                &value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1));
            EXPECT_EQ(value, atomics);
            EXPECT_EQ(
                cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0),
                CUDA_ERROR_INVALID_DEVICE);
        });
    }
}

/** An operation on an address no device may use loses the context, for every later call. */
TEST(Context, ErrorsStick) {
    in_child({}, [] {
        start();
        CUdeviceptr range = 0;
        ASSERT_OK(cuMemAddressReserve(&range, 2 << 20, 0, 0, 0));
        CUstream stream = nullptr;
        EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        EXPECT_OK(cuMemsetD8Async(range, 0, 16, stream));
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
        CUdeviceptr address = 0;
        EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_OK(cuDevicePrimaryCtxReset(0));
        start();
        EXPECT_OK(cuMemAlloc(&address, 16));
    });
}

}  // namespace
TEST(Peers, AccessInOneDirectionOnly) {
    in_child({{"SOFTCUDA_DEVICES", "3"}, {"SOFTCUDA_TOPOLOGY", "0>1,2>0"}}, [] {
        ASSERT_OK(cuInit(0));
        for (int from = 0; from < 3; ++from) {
            for (int to = 0; to < 3; ++to) {
                int access = -1;
                ASSERT_OK(cuDeviceCanAccessPeer(&access, from, to));
                const bool wanted = (from == 0 && to == 1) || (from == 2 && to == 0);
                EXPECT_EQ(access, wanted ? 1 : 0) << from << " > " << to;
            }
        }
    });
    for (const char* wrong : {"0>0", "0>", "0>16", "0>1,ring", "0>1x"}) {
        in_child({{"SOFTCUDA_TOPOLOGY", wrong}},
                 [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE); });
    }
}

TEST(Ledger, RefusedCallsAreCounted) {
    in_child({}, [] {
        ASSERT_OK(cuInit(0));
        EXPECT_EQ(softcuda_errors(nullptr), 0U);
        CUdevice device = 0;
        EXPECT_EQ(cuDeviceGet(&device, 99), CUDA_ERROR_INVALID_DEVICE);
        EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(softcuda_errors("cuDeviceGet"), 1U);
        EXPECT_EQ(softcuda_errors(nullptr), 2U);
        softcuda_calls_reset();
        EXPECT_EQ(softcuda_errors(nullptr), 0U);
    });
}

TEST(SyncMemops, MakesSynchronousCopiesComplete) {
    in_child({{"SOFTCUDA_DELAY", "30000"}}, [] {
        ASSERT_OK(cuInit(0));
        CUcontext context = nullptr;
        ASSERT_OK(cuDevicePrimaryCtxRetain(&context, 0));
        ASSERT_OK(cuCtxSetCurrent(context));
        CUdeviceptr from = 0;
        CUdeviceptr to = 0;
        ASSERT_OK(cuMemAlloc(&from, 64));
        ASSERT_OK(cuMemAlloc(&to, 64));
        ASSERT_OK(cuMemcpyDtoD(to, from, 64));
        EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
        ASSERT_OK(cuCtxSynchronize());
        const unsigned on = 1;
        ASSERT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to));
        ASSERT_OK(cuMemcpyDtoD(to, from, 64));
        EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_SUCCESS);
        ASSERT_OK(cuMemsetD8(to, 1, 64));
        EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_SUCCESS);
        ASSERT_OK(cuMemsetD8(from, 1, 64));
        EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    });
}

}  // namespace softcuda_test
