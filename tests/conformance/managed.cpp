// SPDX-License-Identifier: BSD-3-Clause
// Managed memory: one pointer that both sides may use.
#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 3 << 20;

CUdeviceptr managed(size_t bytes = kBytes) {
    if (attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) == 0) {
        skip("this device has no managed memory");
    }
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    return memory;
}

unsigned char* host_view(CUdeviceptr memory) {
    return static_cast<unsigned char*>(pointer_to(memory));
}

void both_sides() {
    open_device();
    const CUdeviceptr memory = managed();
    host_view(memory)[10] = 42;
    const CUdeviceptr device = allocate(kBytes);
    MUST(cu.cuMemcpyDtoD(device, memory, kBytes));
    MUST(cu.cuMemsetD8(memory, 7, kBytes));
    MUST(cu.cuCtxSynchronize());
    EXPECT(host_view(memory)[10] == 7);
    unsigned char value = 0;
    MUST(cu.cuMemcpyDtoH(&value, device + 10, 1));
    EXPECT(value == 42);
}

void flags() {
    open_device();
    CUdeviceptr memory = managed();
    EXPECT_RESULT(cu.cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_HOST), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemAllocManaged(&memory, 4096, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemAllocManaged(&memory, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
}

void prefetch_and_advise() {
    open_device();
    const CUdeviceptr memory = managed();
    if (attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
        skip("this device cannot prefetch");
    }
    CUmemLocation device = {};
    device.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemLocation host = {};
    host.type = CU_MEM_LOCATION_TYPE_HOST;
    put(memory, kBytes, 1);
    EXPECT_RESULT(cu.cuMemAdvise(memory, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device),
                  CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemPrefetchAsync(memory, kBytes, device, 0, nullptr), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemPrefetchAsync(memory, kBytes, host, 0, nullptr), CUDA_SUCCESS);
    MUST(cu.cuCtxSynchronize());
    EXPECT(holds(memory, kBytes, 1));
}

void range_and_free() {
    open_device();
    const CUdeviceptr memory = managed();
    CUdeviceptr base = 0;
    size_t size = 0;
    MUST(cu.cuMemGetAddressRange(&base, &size, memory + 4097));
    EXPECT(base == memory && size == kBytes);
    EXPECT_RESULT(cu.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

const Case kCases[] = {
    {"managed.both_sides", both_sides},
    {"managed.flags", flags},
    {"managed.prefetch_and_advise", prefetch_and_advise},
    {"managed.range_and_free", range_and_free},
};

}  // namespace

std::span<const Case> managed_cases() {
    return kCases;
}

}  // namespace conformance
