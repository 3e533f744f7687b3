// SPDX-License-Identifier: BSD-3-Clause
// Page-locked host memory, allocated by the driver or registered with it.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

char* pages(size_t count) {
    void* memory =
        mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED);
    return static_cast<char*>(memory);
}

void allocated() {
    open_device();
    void* memory = nullptr;
    MUST(cu.cuMemHostAlloc(&memory, 10000, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    static_cast<char*>(memory)[9999] = 1;
    CUdeviceptr mapped = 0;
    MUST(cu.cuMemHostGetDevicePointer(&mapped, memory, 0));
    EXPECT(mapped == address_of(memory));  // unified addressing
    unsigned flags = 0;
    MUST(cu.cuMemHostGetFlags(&flags, memory));
    EXPECT((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    EXPECT_RESULT(cu.cuMemFreeHost(memory), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
}

void registered() {
    open_device();
    char* memory = pages(4);
    MUST(cu.cuMemHostRegister(memory, 2 * kPage, CU_MEMHOSTREGISTER_PORTABLE));
    EXPECT(pointer_attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(memory)) ==
           CU_MEMORYTYPE_HOST);
    CUdeviceptr mapped = 0;
    EXPECT_RESULT(cu.cuMemHostGetDevicePointer(&mapped, memory, 0), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemHostUnregister(memory), CUDA_SUCCESS);
    unsigned type = 0;
    EXPECT_RESULT(
        cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(memory)),
        CUDA_ERROR_INVALID_VALUE);
}

void overlap() {
    open_device();
    char* memory = pages(4);
    MUST(cu.cuMemHostRegister(memory, 2 * kPage, 0));
    EXPECT_RESULT(cu.cuMemHostRegister(memory, 2 * kPage, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_RESULT(cu.cuMemHostRegister(memory + kPage, 2 * kPage, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_RESULT(cu.cuMemHostRegister(memory + 2 * kPage, kPage, 0), CUDA_SUCCESS);
}

void unknown() {
    open_device();
    char* memory = pages(2);
    EXPECT_RESULT(cu.cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_RESULT(cu.cuMemHostRegister(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

void registered_copies_do_not_wait() {
    open_device();
    char* memory = pages(4);
    MUST(cu.cuMemHostRegister(memory, 4 * kPage, 0));
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const CUdeviceptr device = allocate(4 * kPage);
    put(device, 4 * kPage, 1);
    {
        Gate gate(stream);
        MUST(cu.cuMemcpyDtoHAsync(memory, device, 4 * kPage, stream));
        EXPECT_RESULT(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    }
    MUST(cu.cuStreamSynchronize(stream));
    const std::vector<unsigned char> wanted = pattern(4 * kPage, 1);
    EXPECT(__builtin_memcmp(memory, wanted.data(), wanted.size()) == 0);
}

void inside_a_page() {
    open_device();
    char* memory = pages(3);
    EXPECT_RESULT(cu.cuMemHostRegister(memory + 100, kPage, 0), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuMemHostUnregister(memory + 100), CUDA_SUCCESS);
}

void already_pinned() {
    open_device();
    void* memory = nullptr;
    MUST(cu.cuMemHostAlloc(&memory, 4 * kPage, 0));
    EXPECT_RESULT(cu.cuMemHostRegister(memory, 4 * kPage, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

const Case kCases[] = {
    {"host.allocated", allocated},
    {"host.registered", registered},
    {"host.overlap", overlap},
    {"host.unknown", unknown},
    {"host.registered_copies_do_not_wait", registered_copies_do_not_wait},
    {"host.inside_a_page", inside_a_page},
    {"host.already_pinned", already_pinned, Source::kBelieved},
};

}  // namespace

std::span<const Case> host_cases() {
    return kCases;
}

}  // namespace conformance
