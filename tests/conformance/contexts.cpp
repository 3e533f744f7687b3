// SPDX-License-Identifier: BSD-3-Clause
// Initialisation, contexts and threads, reset, and entry points by name and version.
#include <sys/wait.h>

#include <thread>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 4096;

/// Runs `body` on a fresh thread and waits.
template <class Body>
void on_thread(Body body) {
    std::thread(body).join();
}

void pop() {
    CUcontext popped = nullptr;
    MUST(cu.cuCtxPopCurrent(&popped));
}

void before_init() {
    int count = 0;
    CUdeviceptr memory = 0;
    CUcontext context = nullptr;
    EXPECT_RESULT(cu.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cu.cuMemAlloc(&memory, kBytes), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cu.cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cu.cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

void without_context() {
    MUST(cu.cuInit(0));
    CUdeviceptr memory = 0;
    CUcontext context = reinterpret_cast<CUcontext>(1);
    MUST(cu.cuCtxGetCurrent(&context));
    EXPECT(context == nullptr);
    EXPECT_RESULT(cu.cuMemAlloc(&memory, kBytes), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cu.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    CUstream stream = nullptr;
    EXPECT_RESULT(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_ERROR_INVALID_CONTEXT);
}

void thread_starts_without() {
    open_device();
    on_thread([] {
        CUcontext context = reinterpret_cast<CUcontext>(1);
        CUdeviceptr memory = 0;
        EXPECT_RESULT(cu.cuCtxGetCurrent(&context), CUDA_SUCCESS);
        EXPECT(context == nullptr);
        EXPECT_RESULT(cu.cuMemAlloc(&memory, kBytes), CUDA_ERROR_INVALID_CONTEXT);
    });
}

void primary_state() {
    MUST(cu.cuInit(0));
    unsigned flags = 0;
    int active = 1;
    MUST(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 0);
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    MUST(cu.cuDevicePrimaryCtxRetain(&first, 0));
    MUST(cu.cuDevicePrimaryCtxRetain(&second, 0));
    EXPECT(first == second);
    CUcontext current = first;
    MUST(cu.cuCtxGetCurrent(&current));
    EXPECT(current == nullptr);  // retaining does not make it current
    MUST(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 1);
    MUST(cu.cuDevicePrimaryCtxRelease(0));
    MUST(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 1);
    MUST(cu.cuDevicePrimaryCtxRelease(0));
    MUST(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 0);
    EXPECT_RESULT(cu.cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

void stack_of_contexts() {
    const CUcontext primary = open_device();
    CUcontext own = nullptr;
    MUST(cu.cuCtxCreate_v2(&own, 0, 0));
    CUcontext current = nullptr;
    MUST(cu.cuCtxGetCurrent(&current));
    EXPECT(current == own);  // creation pushes
    CUcontext popped = nullptr;
    MUST(cu.cuCtxPopCurrent(&popped));
    EXPECT(popped == own);
    MUST(cu.cuCtxGetCurrent(&current));
    EXPECT(current == primary);
    MUST(cu.cuCtxPushCurrent(own));
    CUdevice device = -1;
    MUST(cu.cuCtxGetDevice(&device));
    EXPECT(device == 0);
    MUST(cu.cuCtxDestroy(own));
    MUST(cu.cuCtxGetCurrent(&current));
    EXPECT(current == primary);
}

void memory_of_another_context() {
    open_device();
    CUcontext own = nullptr;
    MUST(cu.cuCtxCreate_v2(&own, 0, 0));
    const CUdeviceptr memory = allocate(kBytes);
    put(memory, kBytes, 1);
    EXPECT(pointer_attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, memory) == own);
    pop();
    EXPECT(holds(memory, kBytes, 1));
}

// The stream says where a copy runs, the current context does not: programming guide, "Stream and
// Event Behavior".
void copy_on_stream_of_another() {
    open_device();
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUevent event = nullptr;
    MUST(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    const CUdeviceptr from = allocate(kBytes);
    const CUdeviceptr to = allocate(kBytes);
    put(from, kBytes, 3);
    CUcontext own = nullptr;
    MUST(cu.cuCtxCreate_v2(&own, 0, 0));
    EXPECT_RESULT(cu.cuMemcpyAsync(to, from, kBytes, stream), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuEventRecord(event, stream), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
    pop();
    EXPECT(holds(to, kBytes, 3));
}

void event_of_another_context() {
    open_device();
    CUevent event = nullptr;
    MUST(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUcontext own = nullptr;
    MUST(cu.cuCtxCreate_v2(&own, 0, 0));
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_AMONG(cu.cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE,
                 CUDA_ERROR_INVALID_CONTEXT);
    // Waiting across contexts is allowed.
    EXPECT_RESULT(cu.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
}

void stream_knows_context() {
    const CUcontext context = open_device();
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUcontext found = nullptr;
    MUST(cu.cuStreamGetCtx(stream, &found));
    EXPECT(found == context);
}

void reset_kills_context() {
    open_device();
    static_cast<void>(allocate(kBytes));
    MUST(cu.cuDevicePrimaryCtxReset(0));
    CUdeviceptr memory = 0;
    EXPECT_AMONG(cu.cuMemAlloc(&memory, kBytes), CUDA_ERROR_CONTEXT_IS_DESTROYED,
                 CUDA_ERROR_INVALID_CONTEXT);
    static_cast<void>(open_device());
    EXPECT_RESULT(cu.cuMemAlloc(&memory, kBytes), CUDA_SUCCESS);
}

void destroyed_context() {
    MUST(cu.cuInit(0));
    CUcontext own = nullptr;
    MUST(cu.cuCtxCreate_v2(&own, 0, 0));
    pop();
    on_thread([own] { EXPECT_RESULT(cu.cuCtxSetCurrent(own), CUDA_SUCCESS); });
    MUST(cu.cuCtxDestroy(own));
    CUdeviceptr memory = 0;
    EXPECT_RESULT(cu.cuMemAlloc(&memory, kBytes), CUDA_ERROR_INVALID_CONTEXT);
}

void fork_after_init() {
    open_device();
    const int status = in_child([] {
        int count = 0;
        CUdeviceptr memory = 0;
        EXPECT_RESULT(cu.cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_RESULT(cu.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_RESULT(cu.cuMemAlloc(&memory, kBytes), CUDA_ERROR_NOT_INITIALIZED);
    });
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    static_cast<void>(allocate(kBytes));  // the parent goes on
}

void names_by_version() {
    MUST(cu.cuInit(0));
    void* found = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    MUST(cu.cuGetProcAddress("cuMemAlloc", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    EXPECT(found != nullptr && status == CU_GET_PROC_ADDRESS_SUCCESS);
    CUresult (*allocate_memory)(CUdeviceptr*, size_t) = nullptr;
    __builtin_memcpy(&allocate_memory, &found, sizeof found);
    open_device();
    CUdeviceptr memory = 0;
    EXPECT_RESULT(allocate_memory(&memory, kBytes), CUDA_SUCCESS);
    void* create = nullptr;
    MUST(cu.cuGetProcAddress("cuCtxCreate", &create, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CUresult (*create_context)(CUcontext*, unsigned, CUdevice) = nullptr;
    __builtin_memcpy(&create_context, &create, sizeof create);
    CUcontext context = nullptr;
    EXPECT_RESULT(create_context(&context, 0, 0), CUDA_SUCCESS);
}

void unknown_name() {
    MUST(cu.cuInit(0));
    void* found = reinterpret_cast<void*>(1);
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    // With a place for the status the call may also succeed and say it there.
    const CUresult result = cu.cuGetProcAddress("cuNoSuchEntryPoint", &found, 12000,
                                                CU_GET_PROC_ADDRESS_DEFAULT, &status);
    EXPECT(result == CUDA_ERROR_NOT_FOUND || status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT(found == nullptr);
}

const Case kCases[] = {
    {"context.before_init", before_init},
    {"context.without_context", without_context},
    {"context.thread_starts_without", thread_starts_without},
    {"context.primary_state", primary_state},
    {"context.stack", stack_of_contexts},
    {"context.memory_of_another", memory_of_another_context},
    {"context.copy_on_stream_of_another", copy_on_stream_of_another},
    {"context.event_of_another", event_of_another_context},
    {"context.stream_knows", stream_knows_context},
    {"context.reset_kills", reset_kills_context, Source::kBelieved},
    {"context.destroyed", destroyed_context},
    {"context.fork_after_init", fork_after_init, Source::kBelieved},
    {"context.names_by_version", names_by_version},
    {"context.unknown_name", unknown_name},
};

}  // namespace

std::span<const Case> context_cases() {
    return kCases;
}

}  // namespace conformance
