// SPDX-License-Identifier: BSD-3-Clause
// Kernels: host twins found by name, parameters copied at launch, blocks side by side.
#include <atomic>

#include "softcuda/include/softcuda_kernel.hpp"
#include "support.hpp"

namespace {

/** Adds `add` to each element; takes parameters of different sizes. */
void add_to_all(int* data, size_t count, char add) {
    int* elements = softcuda::translate(data);
    const size_t stride = size_t{gridDim.x} * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        elements[i] += add;
    }
}

/** Each block waits for all others: passes only when they run at the same time. */
void meet(unsigned* arrived) {
    std::atomic_ref<unsigned> count(*softcuda::translate(arrived));
    count.fetch_add(1);
    while (count.load() < gridDim.x) {
    }
}

}  // namespace

SOFTCUDA_TWIN(add_to_all)
SOFTCUDA_TWIN(meet)

namespace softcuda_test {
namespace {

constexpr char kPtx[] = ".version 8.0\n";

CUfunction function(const char* name) {
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    EXPECT_OK(cuModuleLoadData(&module, kPtx));
    EXPECT_OK(cuModuleGetFunction(&found, module, name));
    return found;
}

TEST(Kernel, RunsOverAllBlocks) {
    in_child({}, [] {
        start();
        size_t count = 1000;
        CUdeviceptr data = allocate(count * sizeof(int));
        EXPECT_OK(cuMemsetD32(data, 5, count));
        char add = 3;
        void* params[] = {&data, &count, &add};
        EXPECT_OK(cuLaunchKernel(function("add_to_all"), 7, 1, 1, 128, 1, 1, 0, nullptr, params,
                                 nullptr));
        add = 100;  // copied at launch: no effect
        std::vector<int> seen(count);
        EXPECT_OK(cuMemcpyDtoH(seen.data(), data, count * sizeof(int)));
        EXPECT_EQ(seen, std::vector<int>(count, 8));
    });
}

TEST(Kernel, BlocksRunTogether) {
    in_child({}, [] {
        start();
        CUdeviceptr word = allocate(4);
        EXPECT_OK(cuMemsetD32(word, 0, 1));
        void* params[] = {&word};
        CUfunction meeting = function("meet");
        int processors = 0;
        EXPECT_OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
        const auto blocks = static_cast<unsigned>(processors);
        EXPECT_OK(cuLaunchCooperativeKernel(meeting, blocks, 1, 1, 32, 1, 1, 0, nullptr, params));
        EXPECT_OK(cuStreamSynchronize(nullptr));
        EXPECT_EQ(
            cuLaunchCooperativeKernel(meeting, blocks + 1, 1, 1, 32, 1, 1, 0, nullptr, params),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    });
}

TEST(Kernel, RefusesWhatItDoesNotHave) {
    in_child({}, [] {
        CUcontext first = start(0);
        CUmodule module = nullptr;
        CUfunction found = nullptr;
        EXPECT_EQ(cuModuleLoadData(&module, "nonsense"), CUDA_ERROR_INVALID_IMAGE);
        EXPECT_OK(cuModuleLoadData(&module, kPtx));
        EXPECT_EQ(cuModuleGetFunction(&found, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
        found = function("meet");
        EXPECT_EQ(cuLaunchKernel(found, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuLaunchKernel(found, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                  CUDA_ERROR_INVALID_HANDLE);
        start(1);
        EXPECT_EQ(cuLaunchKernel(found, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                  CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_OK(cuCtxSetCurrent(first));
        EXPECT_OK(cuModuleUnload(module));
        EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    });
}

}  // namespace
}  // namespace softcuda_test
