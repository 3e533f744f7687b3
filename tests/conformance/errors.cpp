// SPDX-License-Identifier: BSD-3-Clause
// Devices' descriptions, and how misuse is answered.
#include <cstring>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

void names() {
    MUST(cu.cuInit(0));
    const char* text = nullptr;
    MUST(cu.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    EXPECT(std::strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    MUST(cu.cuGetErrorString(CUDA_ERROR_NOT_READY, &text));
    EXPECT(text != nullptr && text[0] != '\0');
    EXPECT_RESULT(cu.cuGetErrorName(static_cast<CUresult>(123456), &text),
                  CUDA_ERROR_INVALID_VALUE);
}

void devices() {
    MUST(cu.cuInit(0));
    int count = 0;
    MUST(cu.cuDeviceGetCount(&count));
    CUdevice device = -1;
    EXPECT_RESULT(cu.cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cu.cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        MUST(cu.cuDeviceGet(&device, ordinal));
        char bus[64] = "";
        MUST(cu.cuDeviceGetPCIBusId(bus, sizeof bus, device));
        CUdevice found = -1;
        MUST(cu.cuDeviceGetByPCIBusId(&found, bus));
        EXPECT(found == device);
        size_t total = 0;
        MUST(cu.cuDeviceTotalMem(&total, device));
        EXPECT(total > 0);
        EXPECT(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device) == 1);
        CUuuid first;
        MUST(cu.cuDeviceGetUuid(&first, device));
        if (ordinal > 0) {
            CUuuid zero;
            MUST(cu.cuDeviceGetUuid(&zero, 0));
            EXPECT(std::memcmp(&first, &zero, sizeof zero) != 0);
        }
    }
    int value = 0;
    EXPECT_RESULT(cu.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(99999), 0),
                  CUDA_ERROR_INVALID_VALUE);
}

void frees() {
    open_device();
    const CUdeviceptr memory = allocate(8192);
    EXPECT_RESULT(cu.cuMemFree(memory + 256), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    static char host[64];
    EXPECT_RESULT(cu.cuMemFree(address_of(host)), CUDA_ERROR_INVALID_VALUE);
}

void out_of_memory() {
    open_device();
    CUdeviceptr memory = 0;
    EXPECT_RESULT(cu.cuMemAlloc(&memory, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
    static_cast<void>(allocate(4096));  // not sticky
    size_t free_bytes = 0;
    size_t total = 0;
    MUST(cu.cuMemGetInfo(&free_bytes, &total));
    EXPECT(free_bytes > 0 && free_bytes <= total);
}

void alignment() {
    open_device();
    for (const size_t bytes : {size_t{1}, size_t{100}, size_t{5000}, size_t{3 << 20}}) {
        EXPECT(allocate(bytes) % 256 == 0);
    }
}

void null_arguments() {
    open_device();
    EXPECT_RESULT(cu.cuMemAlloc(nullptr, 4096), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

void bad_module() {
    open_device();
    CUmodule module = nullptr;
    static const char kText[] = "this is no module at all";
    EXPECT_AMONG(cu.cuModuleLoadData(&module, kText), CUDA_ERROR_INVALID_PTX,
                 CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_SOURCE);
}

void own_context_is_no_peer() {
    const CUcontext context = open_device();
    EXPECT_RESULT(cu.cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_INVALID_CONTEXT);
}

const Case kCases[] = {
    {"error.names", names},           {"error.devices", devices},
    {"error.frees", frees},           {"error.out_of_memory", out_of_memory},
    {"error.alignment", alignment},   {"error.null_arguments", null_arguments},
    {"error.bad_module", bad_module}, {"error.own_context_is_no_peer", own_context_is_no_peer},
};

}  // namespace

std::span<const Case> error_cases() {
    return kCases;
}

}  // namespace conformance
