// SPDX-License-Identifier: BSD-3-Clause
// The software CUDA runtime over the software CUDA driver, as a program that links them sees it.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime_fixture.hpp"

namespace {

std::vector<unsigned char> pattern(size_t length = kBytes) {
    std::vector<unsigned char> bytes(length);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    return bytes;
}

TEST_F(Runtime, CountsAndDescribesDevices) {
    int count = 0;
    ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    ASSERT_EQ(count, 2);
    cudaDeviceProp properties;
    ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
    EXPECT_NE(std::strstr(properties.name, "Software CUDA device"), nullptr);
    EXPECT_GT(properties.totalGlobalMem, 0U);
    EXPECT_EQ(properties.unifiedAddressing, 1);
    int value = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1), cudaSuccess);
    EXPECT_EQ(properties.warpSize, value);
    ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 1), cudaSuccess);
    EXPECT_EQ(properties.pciBusID, value);
    char bus[32] = "";
    ASSERT_EQ(cudaDeviceGetPCIBusId(bus, sizeof bus, 1), cudaSuccess);
    int found = -1;
    ASSERT_EQ(cudaDeviceGetByPCIBusId(&found, bus), cudaSuccess);
    EXPECT_EQ(found, 1);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
}

TEST_F(Runtime, ReportsVersions) {
    int version = 0;
    ASSERT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
    EXPECT_EQ(version, CUDART_VERSION);
    ASSERT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_GE(version, CUDART_VERSION);
}

TEST_F(Runtime, EachThreadHasItsDevice) {
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    int here = -1;
    ASSERT_EQ(cudaGetDevice(&here), cudaSuccess);
    EXPECT_EQ(here, 1);
    int there = -1;
    std::thread([&] { EXPECT_EQ(cudaGetDevice(&there), cudaSuccess); }).join();
    EXPECT_EQ(there, 0);
    cudaPointerAttributes attributes;
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, allocate()), cudaSuccess);
    EXPECT_EQ(attributes.device, 1);
    EXPECT_EQ(cudaSetDevice(7), cudaErrorInvalidDevice);
    ASSERT_EQ(cudaGetDevice(&here), cudaSuccess);
    EXPECT_EQ(here, 1);
}

TEST_F(Runtime, KeepsTheLastErrorOfEachThread) {
    EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, NamesErrors) {
    EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidMemcpyDirection),
                 "cudaErrorInvalidMemcpyDirection");
    EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
    EXPECT_STRNE(cudaGetErrorString(cudaErrorInvalidDeviceFunction), "");
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(54321)), "unrecognized error code");
}

TEST_F(Runtime, AllocatesNothingForZeroBytes) {
    void* memory = &memory;
    EXPECT_EQ(cudaMalloc(&memory, 0), cudaSuccess);
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory, size_t{1} << 50), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(static_cast<void**>(nullptr), 8), cudaErrorInvalidValue);
}

TEST_F(Runtime, CopiesInEveryDirection) {
    const std::vector<unsigned char> bytes = pattern();
    std::vector<unsigned char> back(kBytes);
    void* first = allocate();
    void* second = allocate();
    ASSERT_EQ(cudaMemcpy(first, bytes.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(second, first, kBytes, cudaMemcpyDeviceToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(back.data(), second, kBytes, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(cudaMemcpy(first, second, 1, static_cast<cudaMemcpyKind>(9)),
              cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(cudaFree(first), cudaSuccess);
    EXPECT_EQ(cudaFree(first), cudaErrorInvalidValue);
}

TEST_F(Runtime, CopiesBetweenDevices) {
    const std::vector<unsigned char> bytes = pattern();
    std::vector<unsigned char> back(kBytes);
    void* here = allocate();
    ASSERT_EQ(cudaMemcpy(here, bytes.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    void* there = allocate();
    ASSERT_EQ(cudaMemcpyPeer(there, 1, here, 0, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(back.data(), there, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(back, bytes);
}

TEST_F(Runtime, TogglesPeerAccess) {
    int reachable = 0;
    ASSERT_EQ(cudaDeviceCanAccessPeer(&reachable, 0, 1), cudaSuccess);
    ASSERT_EQ(reachable, 1);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST_F(Runtime, CopiesAndFillsRectangles) {
    void* memory = nullptr;
    size_t pitch = 0;
    ASSERT_EQ(cudaMallocPitch(&memory, &pitch, 100, 4), cudaSuccess);
    ASSERT_GE(pitch, 100U);
    ASSERT_EQ(cudaMemset2D(memory, pitch, 7, 100, 4), cudaSuccess);
    std::array<unsigned char, 400> rows = {};
    ASSERT_EQ(cudaMemcpy2D(rows.data(), 100, memory, pitch, 100, 4, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(rows.front(), 7);
    EXPECT_EQ(rows.back(), 7);
    EXPECT_EQ(cudaMemcpy2D(rows.data(), 50, memory, pitch, 100, 4, cudaMemcpyDeviceToHost),
              cudaErrorInvalidPitchValue);
}

TEST_F(Runtime, KnowsEveryKindOfPointer) {
    cudaPointerAttributes attributes;
    void* device = allocate();
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 5), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 0);
    EXPECT_EQ(attributes.devicePointer, static_cast<char*>(device) + 5);
    EXPECT_EQ(attributes.hostPointer, nullptr);

    char* managed = nullptr;
    ASSERT_EQ(cudaMallocManaged(&managed, kBytes), cudaSuccess);
    managed[3] = 1;
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, managed), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
    EXPECT_EQ(attributes.hostPointer, managed);

    char* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, kBytes), cudaSuccess);
    pinned[3] = 1;
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes.hostPointer, pinned);

    static char plain[64];
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, plain), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributes.device, cudaInvalidDeviceId);
    EXPECT_EQ(attributes.devicePointer, nullptr);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
    EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST_F(Runtime, RegistersHostMemory) {
    void* memory = std::aligned_alloc(4096, 8192);
    ASSERT_EQ(cudaHostRegister(memory, 8192, cudaHostRegisterDefault), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(memory, 8192, cudaHostRegisterDefault),
              cudaErrorHostMemoryAlreadyRegistered);
    void* mapped = nullptr;
    EXPECT_EQ(cudaHostGetDevicePointer(&mapped, memory, 0), cudaSuccess);
    EXPECT_NE(mapped, nullptr);
    EXPECT_EQ(cudaHostUnregister(memory), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(memory), cudaErrorHostMemoryNotRegistered);
    std::free(memory);
}

void set_flag(void* flag) {
    static_cast<std::atomic<int>*>(flag)->store(1);
}

void hold(void* flag) {
    while (static_cast<std::atomic<int>*>(flag)->load() == 0) {
        std::this_thread::yield();
    }
}

TEST_F(Runtime, RunsStreamsInOrder) {
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    void* memory = allocate();
    std::atomic<int> gate{0};
    std::atomic<int> reached{0};
    ASSERT_EQ(cudaLaunchHostFunc(stream, hold, &gate), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(memory, 4, kBytes, stream), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(stream, set_flag, &reached), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(reached.load(), 0);
    gate.store(1);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(reached.load(), 1);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
};

TEST_F(Runtime, CallsBack) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    Seen seen;
    ASSERT_EQ(cudaStreamAddCallback(
                  stream,
                  [](cudaStream_t which, cudaError_t status, void* data) {
                      *static_cast<Seen*>(data) = {which, status};
                  },
                  &seen, 0),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(seen.stream, stream);
    EXPECT_EQ(seen.status, cudaSuccess);
}

TEST_F(Runtime, TimesEvents) {
    cudaEvent_t start = nullptr;
    cudaEvent_t stop = nullptr;
    ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(start), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(stop), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    float elapsed = -1;
    ASSERT_EQ(cudaEventElapsedTime(&elapsed, start, stop), cudaSuccess);
    EXPECT_GE(elapsed, 0.0F);
}

TEST_F(Runtime, AllocatesInStreamOrder) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    unsigned char* memory = nullptr;
    ASSERT_EQ(cudaMallocAsync(&memory, kBytes, stream), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(memory, 9, kBytes, stream), cudaSuccess);
    unsigned char value = 0;
    ASSERT_EQ(cudaMemcpyAsync(&value, memory + 1, 1, cudaMemcpyDefault, stream), cudaSuccess);
    ASSERT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(value, 9);
    cudaMemPool_t pool = nullptr;
    EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
    EXPECT_NE(pool, nullptr);
}

TEST_F(Runtime, PrefetchesManagedMemory) {
    char* memory = nullptr;
    ASSERT_EQ(cudaMallocManaged(&memory, kBytes), cudaSuccess);
    memory[0] = 5;
    const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    EXPECT_EQ(cudaMemPrefetchAsync(memory, kBytes, device, 0), cudaSuccess);
    EXPECT_EQ(cudaMemAdvise(memory, kBytes, cudaMemAdviseSetPreferredLocation, device),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(memory[0], 5);
}

TEST_F(Runtime, RefusesItsOwnIpcHandle) {
    cudaIpcMemHandle_t handle;
    void* memory = allocate();
    ASSERT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
    void* opened = nullptr;
    EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
              cudaErrorDeviceUninitialized);
    EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
}

TEST_F(Runtime, StartsAgainAfterReset) {
    static_cast<void>(allocate());
    std::atomic<int> step{0};
    cudaError_t other = cudaErrorUnknown;
    std::thread late([&] {
        void* memory = nullptr;
        EXPECT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
        step.store(1);
        while (step.load() == 1) {
            std::this_thread::yield();
        }
        other = cudaMalloc(&memory, kBytes);
    });
    while (step.load() == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_NE(allocate(), nullptr);
    step.store(2);
    late.join();
    EXPECT_EQ(other, cudaSuccess);
}

TEST_F(Runtime, FindsDriverEntries) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    EXPECT_EQ(cudaGetDriverEntryPoint("cuMemAlloc", &entry, cudaEnableDefault, &status),
              cudaSuccess);
    EXPECT_NE(entry, nullptr);
    EXPECT_EQ(status, cudaDriverEntryPointSuccess);
    EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuNone", &entry, 12000, 0, &status), cudaSuccess);
    EXPECT_EQ(entry, nullptr);
    EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
}

TEST_F(Runtime, ComesAsCuda12Too) {
    void* library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    cudaError_t (*version_of)(int*) = nullptr;
    cudaError_t (*properties_of)(void*, int) = nullptr;
    void* found = dlvsym(library, "cudaRuntimeGetVersion", "libcudart.so.12");
    ASSERT_NE(found, nullptr);
    std::memcpy(&version_of, &found, sizeof found);
    int version = 0;
    EXPECT_EQ(version_of(&version), cudaSuccess);
    EXPECT_EQ(version, 12080);
    found = dlvsym(library, "cudaGetDeviceProperties_v2", "libcudart.so.12");
    ASSERT_NE(found, nullptr);
    std::memcpy(&properties_of, &found, sizeof found);
    constexpr size_t kStructureBytes = 1032;  // of CUDA 12.8
    constexpr size_t kClockRateOffset = 348;
    std::array<unsigned char, kStructureBytes + 1> bytes;
    bytes.fill(0xEE);
    EXPECT_EQ(properties_of(bytes.data(), 0), cudaSuccess);
    EXPECT_NE(bytes[kStructureBytes - 1], 0xEE);
    EXPECT_EQ(bytes[kStructureBytes], 0xEE);
    int clock_rate = -1;
    int expected = 0;
    std::memcpy(&clock_rate, bytes.data() + kClockRateOffset, sizeof clock_rate);
    EXPECT_EQ(cudaDeviceGetAttribute(&expected, cudaDevAttrClockRate, 0), cudaSuccess);
    EXPECT_EQ(clock_rate, expected);
    EXPECT_NE(dlsym(library, "cudaMemPrefetchAsync_v2"), nullptr);
    EXPECT_EQ(dlclose(library), 0);
}

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    setenv("SOFTCUDA_DEVICES", "2", 1);
    setenv("SOFTCUDA_QUIET", "1", 1);
    setenv("SOFTCUDA_KERNELS", RUNTIME_TEST_KERNELS, 1);
    return RUN_ALL_TESTS();
}
