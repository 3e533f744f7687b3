// SPDX-License-Identifier: BSD-3-Clause
// What takes two devices: peer access, copies and IPC between them.
#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 3 << 20;

/// Contexts of devices 0 and 1, with 0's current; skips where there is no second device.
void open_two(CUcontext* first, CUcontext* second, bool need_access) {
    MUST(cu.cuInit(0));
    int count = 0;
    MUST(cu.cuDeviceGetCount(&count));
    if (count < 2) {
        skip("needs 2 devices, found 1");
    }
    int reachable = 0;
    MUST(cu.cuDeviceCanAccessPeer(&reachable, 0, 1));
    if (need_access && reachable == 0) {
        skip("needs 2 devices with peer access between them");
    }
    MUST(cu.cuDevicePrimaryCtxRetain(second, 1));
    *first = open_device(0);
}

void switches() {
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    open_two(&first, &second, true);
    EXPECT_RESULT(cu.cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT_RESULT(cu.cuCtxEnablePeerAccess(second, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuCtxEnablePeerAccess(second, 0), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    EXPECT_RESULT(cu.cuCtxDisablePeerAccess(second), CUDA_SUCCESS);
}

void not_supported() {
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    open_two(&first, &second, false);
    int reachable = 0;
    MUST(cu.cuDeviceCanAccessPeer(&reachable, 0, 1));
    if (reachable != 0) {
        skip("needs 2 devices without peer access between them");
    }
    EXPECT_RESULT(cu.cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

void copies_without_access() {
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    open_two(&first, &second, false);
    const CUdeviceptr here = allocate(kBytes);
    put(here, kBytes, 1);
    MUST(cu.cuCtxSetCurrent(second));
    const CUdeviceptr there = allocate(kBytes);
    EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there) == 1);
    MUST(cu.cuMemcpy(there, here, kBytes));
    EXPECT(holds(there, kBytes, 1));
    MUST(cu.cuMemsetD8(there, 0, kBytes));
    MUST(cu.cuMemcpyPeer(there, second, here, first, kBytes));
    EXPECT(holds(there, kBytes, 1));
}

void ipc_between_devices() {
    run_pair(
        [](const Line& line) {
            CUcontext first = nullptr;
            CUcontext second = nullptr;
            open_two(&first, &second, true);
            const CUdeviceptr memory = allocate(kBytes);
            put(memory, kBytes, 2);
            CUipcMemHandle handle;
            MUST(cu.cuIpcGetMemHandle(&handle, memory));
            line.send(handle);
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            open_device(1);
            CUdeviceptr opened = 0;
            MUST(cu.cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
            EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, opened) == 0);
            const CUdeviceptr copy = allocate(kBytes);
            MUST(cu.cuMemcpyDtoD(copy, opened, kBytes));
            EXPECT(holds(copy, kBytes, 2));
            line.signal();
        });
}

const Case kCases[] = {
    {"peer.switches", switches},
    {"peer.not_supported", not_supported},
    {"peer.copies_without_access", copies_without_access},
    {"peer.ipc_between_devices", ipc_between_devices},
};

}  // namespace

std::span<const Case> peer_cases() {
    return kCases;
}

}  // namespace conformance
