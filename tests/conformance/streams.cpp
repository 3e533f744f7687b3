// SPDX-License-Identifier: BSD-3-Clause
// Order and asynchrony: streams, events, the default streams, host functions, captures.
#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 64 << 10;

CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, flags));
    return stream;
}

CUevent new_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent event = nullptr;
    MUST(cu.cuEventCreate(&event, flags));
    return event;
}

void calls_return_at_once() {
    open_device();
    const CUstream stream = new_stream();
    const CUdeviceptr memory = allocate(kBytes);
    put(memory, kBytes, 1);
    Gate gate(stream);
    MUST(cu.cuMemsetD8Async(memory, 9, kBytes, stream));
    EXPECT_RESULT(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuStreamQuery(stream), CUDA_SUCCESS);
    unsigned char last = 0;
    MUST(cu.cuMemcpyDtoH(&last, memory + kBytes - 1, 1));
    EXPECT(last == 9);
}

void order_in_a_stream() {
    open_device();
    const CUstream stream = new_stream();
    const CUdeviceptr first = allocate(kBytes);
    const CUdeviceptr second = allocate(kBytes);
    put(first, kBytes, 1);
    put(second, kBytes, 2);
    Gate gate(stream);
    MUST(cu.cuMemcpyDtoDAsync(second, first, kBytes, stream));
    MUST(cu.cuMemsetD8Async(first, 0, kBytes, stream));
    gate.open();
    MUST(cu.cuStreamSynchronize(stream));
    EXPECT(holds(second, kBytes, 1));
}

void default_waits_for_blocking() {
    open_device();
    const CUstream blocking = new_stream(CU_STREAM_DEFAULT);
    const CUdeviceptr memory = allocate(kBytes);
    Gate gate(blocking);
    MUST(cu.cuMemsetD8Async(memory, 1, kBytes, nullptr));
    linger();
    EXPECT_RESULT(cu.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_RESULT(cu.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
}

void blocking_waits_for_default() {
    open_device();
    const CUstream blocking = new_stream(CU_STREAM_DEFAULT);
    const CUdeviceptr memory = allocate(kBytes);
    Gate gate(nullptr);
    MUST(cu.cuMemsetD8Async(memory, 1, kBytes, blocking));
    linger();
    EXPECT_RESULT(cu.cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_RESULT(cu.cuStreamSynchronize(blocking), CUDA_SUCCESS);
}

void default_ignores_non_blocking() {
    open_device();
    const CUstream free_stream = new_stream();
    const CUdeviceptr memory = allocate(kBytes);
    Gate gate(free_stream);
    MUST(cu.cuMemsetD8Async(memory, 1, kBytes, nullptr));
    EXPECT_RESULT(cu.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuStreamQuery(free_stream), CUDA_ERROR_NOT_READY);
}

void named_default_streams() {
    open_device();
    const CUdeviceptr memory = allocate(kBytes);
    MUST(cu.cuMemsetD8Async(memory, 3, kBytes, CU_STREAM_PER_THREAD));
    EXPECT_RESULT(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    MUST(cu.cuMemsetD8Async(memory, 4, kBytes, CU_STREAM_LEGACY));
    EXPECT_RESULT(cu.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
}

void event_states() {
    open_device();
    const CUstream stream = new_stream();
    const CUevent event = new_event();
    EXPECT_RESULT(cu.cuEventQuery(event), CUDA_SUCCESS);  // never recorded counts as done
    EXPECT_RESULT(cu.cuEventSynchronize(event), CUDA_SUCCESS);
    Gate gate(stream);
    MUST(cu.cuEventRecord(event, stream));
    EXPECT_RESULT(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_RESULT(cu.cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuEventQuery(event), CUDA_SUCCESS);
}

void wait_orders_streams() {
    open_device();
    const CUstream before = new_stream();
    const CUstream after = new_stream();
    const CUevent event = new_event();
    const CUdeviceptr memory = allocate(kBytes);
    put(memory, kBytes, 1);
    Gate gate(before);
    MUST(cu.cuMemsetD8Async(memory, 1, kBytes, before));
    MUST(cu.cuEventRecord(event, before));
    MUST(cu.cuStreamWaitEvent(after, event, 0));
    MUST(cu.cuMemsetD8Async(memory, 2, kBytes, after));
    linger();
    EXPECT_RESULT(cu.cuStreamQuery(after), CUDA_ERROR_NOT_READY);
    gate.open();
    MUST(cu.cuStreamSynchronize(after));
    unsigned char value = 0;
    MUST(cu.cuMemcpyDtoH(&value, memory + 17, 1));
    EXPECT(value == 2);
}

void wait_on_unrecorded() {
    open_device();
    const CUstream stream = new_stream();
    MUST(cu.cuStreamWaitEvent(stream, new_event(), 0));
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

void wait_takes_the_record_at_call() {
    open_device();
    const CUstream held = new_stream();
    const CUstream waiter = new_stream();
    const CUevent event = new_event();
    MUST(cu.cuEventRecord(event, waiter));
    MUST(cu.cuEventSynchronize(event));
    MUST(cu.cuStreamWaitEvent(waiter, event, 0));
    Gate gate(held);
    MUST(cu.cuEventRecord(event, held));  // later: moves nothing for the wait above
    EXPECT_RESULT(cu.cuStreamSynchronize(waiter), CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY);
}

void event_times() {
    open_device();
    const CUstream stream = new_stream();
    const CUevent start = new_event(CU_EVENT_DEFAULT);
    const CUevent stop = new_event(CU_EVENT_DEFAULT);
    float elapsed = -1;
    EXPECT_RESULT(cu.cuEventElapsedTime(&elapsed, start, stop), CUDA_ERROR_INVALID_HANDLE);
    MUST(cu.cuEventRecord(start, stream));
    {
        Gate gate(stream);
        MUST(cu.cuEventRecord(stop, stream));
        EXPECT_RESULT(cu.cuEventElapsedTime(&elapsed, start, stop), CUDA_ERROR_NOT_READY);
        linger();
    }
    MUST(cu.cuEventSynchronize(stop));
    EXPECT_RESULT(cu.cuEventElapsedTime(&elapsed, start, stop), CUDA_SUCCESS);
    EXPECT(elapsed > 1.0F && elapsed < 60000.0F);
    const CUevent untimed = new_event();
    MUST(cu.cuEventRecord(untimed, stream));
    MUST(cu.cuEventSynchronize(untimed));
    EXPECT_RESULT(cu.cuEventElapsedTime(&elapsed, start, untimed), CUDA_ERROR_INVALID_HANDLE);
}

void flags_and_priorities() {
    open_device();
    unsigned flags = 77;
    MUST(cu.cuStreamGetFlags(new_stream(), &flags));
    EXPECT(flags == CU_STREAM_NON_BLOCKING);
    MUST(cu.cuStreamGetFlags(new_stream(CU_STREAM_DEFAULT), &flags));
    EXPECT(flags == CU_STREAM_DEFAULT);
    int least = 0;
    int greatest = 0;
    MUST(cu.cuCtxGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 100));
    int priority = 77;
    MUST(cu.cuStreamGetPriority(stream, &priority));
    EXPECT(priority == greatest);  // clamped
    EXPECT_RESULT(cu.cuStreamCreate(&stream, 0x80), CUDA_ERROR_INVALID_VALUE);
}

void destroy_with_work() {
    open_device();
    const CUstream stream = new_stream();
    const CUevent event = new_event();
    const CUdeviceptr memory = allocate(kBytes);
    MUST(cu.cuMemsetD8Async(memory, 5, kBytes, stream));
    MUST(cu.cuEventRecord(event, stream));
    EXPECT_RESULT(cu.cuStreamDestroy(stream), CUDA_SUCCESS);
    MUST(cu.cuEventSynchronize(event));
    unsigned char value = 0;
    MUST(cu.cuMemcpyDtoH(&value, memory + 99, 1));
    EXPECT(value == 5);
}

void destroy_pending_event() {
    open_device();
    const CUstream stream = new_stream();
    const CUevent event = new_event();
    Gate gate(stream);
    MUST(cu.cuEventRecord(event, stream));
    EXPECT_RESULT(cu.cuEventDestroy(event), CUDA_SUCCESS);
    gate.open();
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

CUresult inside = CUDA_SUCCESS;

void host_function_must_not_call() {
    open_device();
    const CUstream stream = new_stream();
    MUST(cu.cuLaunchHostFunc(
        stream,
        [](void*) {
            CUdeviceptr memory = 0;
            inside = cu.cuMemAlloc(&memory, 4096);
        },
        nullptr));
    MUST(cu.cuStreamSynchronize(stream));
    EXPECT_AMONG(inside, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_INVALID_CONTEXT);
}

void memory_values() {
    open_device();
    const CUstream stream = new_stream();
    const CUdeviceptr flag = allocate(64);
    MUST(cu.cuMemsetD32(flag, 0, 16));
    MUST(cu.cuCtxSynchronize());
    MUST(cu.cuStreamWaitValue32(stream, flag, 7, CU_STREAM_WAIT_VALUE_GEQ));
    linger();
    EXPECT_RESULT(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    const CUstream other = new_stream();
    MUST(cu.cuStreamWriteValue32(other, flag, 8, CU_STREAM_WRITE_VALUE_DEFAULT));
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

void not_capturing() {
    open_device();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    MUST(cu.cuStreamIsCapturing(new_stream(), &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_NONE);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    MUST(cu.cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

void capture_forbids_synchronising() {
    open_device();
    const CUstream stream = new_stream();
    const CUresult began = cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (began == CUDA_ERROR_NOT_SUPPORTED) {
        skip("this driver does not capture");
    }
    EXPECT_RESULT(began, CUDA_SUCCESS);
    EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph graph = nullptr;
    EXPECT_RESULT(cu.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

const Case kCases[] = {
    {"stream.calls_return_at_once", calls_return_at_once},
    {"stream.order_in_a_stream", order_in_a_stream},
    {"stream.default_waits_for_blocking", default_waits_for_blocking},
    {"stream.blocking_waits_for_default", blocking_waits_for_default},
    {"stream.default_ignores_non_blocking", default_ignores_non_blocking},
    {"stream.named_default_streams", named_default_streams},
    {"stream.flags_and_priorities", flags_and_priorities},
    {"stream.destroy_with_work", destroy_with_work},
    {"stream.host_function_must_not_call", host_function_must_not_call, Source::kBelieved},
    {"stream.memory_values", memory_values},
    {"stream.not_capturing", not_capturing},
    {"stream.capture_forbids_synchronising", capture_forbids_synchronising},
    {"event.states", event_states},
    {"event.wait_orders_streams", wait_orders_streams},
    {"event.wait_on_unrecorded", wait_on_unrecorded},
    {"event.wait_takes_the_record_at_call", wait_takes_the_record_at_call},
    {"event.times", event_times},
    {"event.destroy_pending", destroy_pending_event},
};

}  // namespace

std::span<const Case> stream_cases() {
    return kCases;
}

}  // namespace conformance
