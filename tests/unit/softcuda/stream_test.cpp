// SPDX-License-Identifier: BSD-3-Clause
// Streams and events: order, default-stream rules, handles.
#include <atomic>
#include <thread>

#include "support.hpp"

namespace softcuda_test {
namespace {

CUstream make_stream(unsigned flags) {
    CUstream stream = nullptr;
    EXPECT_OK(cuStreamCreate(&stream, flags));
    return stream;
}

CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent event = nullptr;
    EXPECT_OK(cuEventCreate(&event, flags));
    return event;
}

/** Adds a function to the stream that sets `flag`. */
void set_later(CUstream stream, std::atomic<int>& flag) {
    EXPECT_OK(cuLaunchHostFunc(
        stream, [](void* target) { static_cast<std::atomic<int>*>(target)->store(1); }, &flag));
}

TEST(Stream, RunsInOrder) {
    in_child({{"SOFTCUDA_ASYNC", "always"}}, [] {
        start();
        CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
        const CUdeviceptr chain = allocate(1001);
        EXPECT_OK(cuMemsetD8(chain, 0, 1001));
        EXPECT_OK(cuCtxSynchronize());
        EXPECT_OK(cuMemsetD8Async(chain, 6, 1, stream));
        for (unsigned i = 0; i < 1000; ++i) {
            EXPECT_OK(cuMemcpyDtoDAsync(chain + i + 1, chain + i, 1, stream));
        }
        EXPECT_OK(cuStreamSynchronize(stream));
        EXPECT_OK(cuStreamQuery(stream));
        EXPECT_EQ(bytes_at(chain, 1001), std::vector<unsigned char>(1001, 6));
    });
}

TEST(Stream, DefaultStreamWaitsForBlockingStreams) {
    in_child({}, [] {
        start();
        CUstream blocking = make_stream(CU_STREAM_DEFAULT);
        std::atomic<int> after{0};
        HeldStream held(blocking);
        set_later(nullptr, after);
        EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(after.load(), 0);
        held.release();
        EXPECT_OK(cuStreamSynchronize(nullptr));
        EXPECT_EQ(after.load(), 1);
        EXPECT_OK(cuStreamQuery(blocking));
    });
}

TEST(Stream, BlockingStreamsWaitForTheDefaultStream) {
    in_child({}, [] {
        start();
        CUstream blocking = make_stream(CU_STREAM_DEFAULT);
        std::atomic<int> after{0};
        HeldStream held(nullptr);
        set_later(blocking, after);
        EXPECT_EQ(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(after.load(), 0);
        held.release();
        EXPECT_OK(cuStreamSynchronize(blocking));
        EXPECT_EQ(after.load(), 1);
    });
}

TEST(Stream, NonBlockingStreamsDoNotWait) {
    in_child({}, [] {
        start();
        CUstream free_stream = make_stream(CU_STREAM_NON_BLOCKING);
        std::atomic<int> done{0};
        HeldStream held(nullptr);
        set_later(free_stream, done);
        EXPECT_OK(cuStreamSynchronize(free_stream));  // hangs if it waited
        EXPECT_EQ(done.load(), 1);
        EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    });
}

TEST(Stream, PerThreadStreamsDiffer) {
    in_child({}, [] {
        CUcontext context = start();
        unsigned long long mine = 0;
        unsigned long long again = 0;
        unsigned long long other = 0;
        EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
        EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
        std::thread([&] {
            EXPECT_OK(cuCtxSetCurrent(context));
            EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &other));
        }).join();
        EXPECT_EQ(mine, again);
        EXPECT_NE(mine, other);
    });
}

TEST(Stream, DestroyLetsQueuedWorkFinish) {
    in_child({}, [] {
        start();
        CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
        CUstream watcher = make_stream(CU_STREAM_NON_BLOCKING);
        CUevent event = make_event();
        std::atomic<int> done{0};
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const auto wait = [](void* end) {
            char byte = 0;
            EXPECT_EQ(read(*static_cast<int*>(end), &byte, 1), 0);
        };
        EXPECT_OK(cuLaunchHostFunc(stream, wait, &ends[0]));
        set_later(stream, done);
        EXPECT_OK(cuEventRecord(event, stream));
        EXPECT_OK(cuStreamWaitEvent(watcher, event, 0));
        EXPECT_OK(cuStreamDestroy(stream));
        EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        close(ends[1]);
        EXPECT_OK(cuStreamSynchronize(watcher));
        EXPECT_EQ(done.load(), 1);
    });
}

TEST(Stream, HostFunctionsMayNotCallTheDriver) {
    in_child({}, [] {
        start();
        static std::atomic<int> result{-1};
        EXPECT_OK(cuLaunchHostFunc(
            nullptr,
            [](void*) {
                CUdeviceptr address = 0;
                result = cuMemAlloc(&address, 16);
            },
            nullptr));
        EXPECT_OK(cuStreamSynchronize(nullptr));
        EXPECT_EQ(result.load(), CUDA_ERROR_NOT_PERMITTED);
    });
}

TEST(Stream, ValueWaitsAndWrites) {
    in_child({}, [] {
        start();
        CUstream waiting = make_stream(CU_STREAM_NON_BLOCKING);
        CUstream writing = make_stream(CU_STREAM_NON_BLOCKING);
        const CUdeviceptr word = allocate(8);
        EXPECT_OK(cuMemsetD8(word, 0, 8));
        EXPECT_OK(cuStreamWaitValue32(waiting, word, 3, CU_STREAM_WAIT_VALUE_GEQ));
        EXPECT_EQ(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
        EXPECT_OK(cuStreamWriteValue32(writing, word, 3, 0));
        EXPECT_OK(cuStreamSynchronize(waiting));
    });
}

TEST(Event, CompletesWithItsStream) {
    in_child({}, [] {
        start();
        CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
        CUevent event = make_event();
        EXPECT_OK(cuEventQuery(event));  // never recorded: complete
        HeldStream held(stream);
        EXPECT_OK(cuEventRecord(event, stream));
        EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        held.release();
        EXPECT_OK(cuEventSynchronize(event));
        EXPECT_OK(cuEventQuery(event));
    });
}

TEST(Event, WaitTakesTheRecordOfItsTime) {
    in_child({}, [] {
        start();
        CUstream first = make_stream(CU_STREAM_NON_BLOCKING);
        CUstream second = make_stream(CU_STREAM_NON_BLOCKING);
        CUevent event = make_event();
        EXPECT_OK(cuEventRecord(event, first));
        HeldStream held(first);
        EXPECT_OK(cuStreamWaitEvent(second, event, 0));
        EXPECT_OK(cuEventRecord(event, first));  // recorded again after the wait: not waited for
        EXPECT_OK(cuStreamSynchronize(second));  // hangs if it were
        EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    });
}

TEST(Event, FlagsAndHandles) {
    in_child({}, [] {
        CUcontext context = start(0);
        CUevent event = nullptr;
        EXPECT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
        CUevent untimed = make_event();
        CUevent timed = make_event(CU_EVENT_DEFAULT);
        float milliseconds = 0;
        EXPECT_EQ(cuEventElapsedTime(&milliseconds, timed, timed), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_OK(cuEventRecord(timed, nullptr));
        EXPECT_OK(cuEventRecord(untimed, nullptr));
        EXPECT_OK(cuCtxSynchronize());
        EXPECT_EQ(cuEventElapsedTime(&milliseconds, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_OK(cuEventElapsedTime(&milliseconds, timed, timed));
        start(1);  // another context: its streams cannot record this event
        EXPECT_EQ(cuEventRecord(timed, nullptr), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_OK(cuCtxSetCurrent(context));
        EXPECT_OK(cuEventDestroy(timed));
        EXPECT_EQ(cuEventQuery(timed), CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST(Capture, TakesWorkAndIsInvalidated) {
    in_child({}, [] {
        start();
        CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
        const CUdeviceptr target = allocate(16);
        EXPECT_OK(cuMemsetD8(target, 1, 16));
        EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        EXPECT_OK(cuMemsetD8Async(target, 2, 16, stream));  // recorded, not run
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        EXPECT_OK(cuStreamIsCapturing(stream, &status));
        EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CUgraph graph = nullptr;
        EXPECT_OK(cuStreamEndCapture(stream, &graph));
        EXPECT_NE(graph, nullptr);
        EXPECT_OK(cuGraphDestroy(graph));
        EXPECT_EQ(bytes_at(target, 1)[0], 1);

        EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CUdeviceptr address = 0;
        EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

        EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
        EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
        EXPECT_OK(cuMemAlloc(&address, 16));
        EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
        EXPECT_OK(cuStreamEndCapture(stream, &graph));
        EXPECT_OK(cuGraphDestroy(graph));
    });
}

}  // namespace
}  // namespace softcuda_test
