// SPDX-License-Identifier: BSD-3-Clause
// Stream queues, their worker threads and the ordering of default streams.
#include "softcuda/driver/stream.hpp"

#include <sched.h>

#include <time.h>

#include <cerrno>
#include <new>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/context.hpp"
#include "softcuda/driver/helpers.hpp"

namespace softcuda {
namespace {

void delay() {
    if (const double microseconds = config().delay_us; microseconds > 0) {
        const auto nanoseconds = static_cast<int64_t>(microseconds * 1000);
        timespec left{nanoseconds / 1000000000, nanoseconds % 1000000000};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        }
    }
}

/** Marks one task as finished; the stream's mutex is held. */
void finish_one(CUstream_st& stream) {
    stream.busy = false;
    stream.completed.fetch_add(1, std::memory_order_release);
    stream.done.notify_all();
}

/** Runs the first task of the queue; the stream's mutex is held but meanwhile. */
void run_first(CUstream_st& stream, std::unique_lock<std::mutex>& lock) {
    Task task = stream.queue.front();
    stream.queue.pop_front();
    stream.busy = true;
    lock.unlock();
    delay();
    task();
    lock.lock();
    finish_one(stream);
}

void* work(void* argument) {
    CUstream_st& stream = *static_cast<CUstream_st*>(argument);
    std::unique_lock lock(stream.mutex);
    for (;;) {
        stream.work.wait(lock,
                         [&] { return !stream.busy && (!stream.queue.empty() || stream.closing); });
        if (stream.queue.empty()) {
            break;
        }
        run_first(stream, lock);
    }
    lock.unlock();
    release_stream(&stream);
    return nullptr;
}

void start_worker(CUstream_st& stream) {
    stream.refs.fetch_add(1);
    if (!start_thread(work, &stream)) {
        stream.refs.fetch_sub(1);
        throw std::bad_alloc();
    }
    stream.has_worker = true;
}

uint64_t push(CUstream_st& stream, const Task& task) {
    const std::lock_guard lock(stream.mutex);
    if (!stream.has_worker) {
        start_worker(stream);
    }
    stream.queue.push_back(task);
    const uint64_t ticket = stream.submitted.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (!stream.busy) {
        stream.work.notify_one();
    }
    return ticket;
}

/** Makes `stream` wait, as a task, for what `other` has been given so far. */
void push_wait(CUstream_st& stream, CUstream_st& other) {
    other.refs.fetch_add(1);
    CUstream_st* awaited = &other;
    const uint64_t ticket = other.submitted.load();
    push(stream, [awaited, ticket] {
        wait_ticket(*awaited, ticket);
        release_stream(awaited);
    });
}

/** Calls `visit` with every other stream whose work `stream` must follow; stops when it says so. */
template <class Visit>
void for_each_before(CUstream_st& stream, Visit visit) {
    CUctx_st& context = *stream.context;
    if (stream.kind == StreamKind::kBlocking) {
        CUstream_st* legacy = context.legacy.load(std::memory_order_acquire);
        if (legacy != nullptr && legacy->pending()) {
            visit(*legacy);
        }
        return;
    }
    const std::lock_guard lock(context.mutex);
    for (CUstream_st* other : context.streams) {
        if (other->kind == StreamKind::kBlocking && other->pending() && !visit(*other)) {
            return;
        }
    }
}

/** Runs the task if the stream is idle; the caller has looked at other streams. */
bool claim(CUstream_st& stream) {
    const std::lock_guard lock(stream.mutex);
    if (stream.busy || !stream.queue.empty() || stream.pending()) {
        return false;
    }
    stream.busy = true;
    stream.submitted.fetch_add(1, std::memory_order_acq_rel);
    return true;
}

}  // namespace

CUresult not_ready() noexcept {
    sched_yield();
    return CUDA_ERROR_NOT_READY;
}

CUresult check_handle(HandleState state, HandleState wanted) noexcept {
    if (state == wanted) {
        return CUDA_SUCCESS;
    }
    return state == HandleState::kContextGone ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                              : CUDA_ERROR_INVALID_HANDLE;
}

uint64_t enqueue(CUstream_st& stream, const Task& task) {
    if (stream.kind == StreamKind::kNonBlocking) {
        return push(stream, task);
    }
    const std::lock_guard lock(stream.context->order);
    for_each_before(stream, [&](CUstream_st& other) {
        push_wait(stream, other);
        return true;
    });
    return push(stream, task);
}

bool run_inline(CUstream_st& stream, Task task) {
    {
        std::unique_lock<std::mutex> order;
        if (stream.kind != StreamKind::kNonBlocking) {
            order = std::unique_lock(stream.context->order);
            bool must_wait = false;
            for_each_before(stream, [&](CUstream_st&) {
                must_wait = true;
                return false;
            });
            if (must_wait) {
                return false;
            }
        }
        if (!claim(stream)) {
            return false;
        }
    }
    task();
    const std::lock_guard lock(stream.mutex);
    finish_one(stream);
    if (!stream.queue.empty() || stream.closing) {
        stream.work.notify_one();
    }
    return true;
}

void wait_ticket(CUstream_st& stream, uint64_t ticket) {
    if (stream.completed.load(std::memory_order_acquire) >= ticket) {
        return;
    }
    std::unique_lock lock(stream.mutex);
    while (stream.completed.load() < ticket) {
        // What the worker has not begun is done sooner here: it may be waiting for a processor.
        if (!stream.busy && !stream.queue.empty()) {
            run_first(stream, lock);
        } else {
            stream.done.wait(lock);
        }
    }
    if (!stream.queue.empty() || stream.closing) {
        stream.work.notify_one();
    }
}

void drain(CUstream_st& stream) {
    wait_ticket(stream, stream.submitted.load());
}

void close_stream(CUstream_st& stream, HandleState state) {
    {
        const std::lock_guard lock(stream.mutex);
        stream.state = state;
        stream.closing = true;
        stream.work.notify_one();
    }
    release_stream(&stream);
}

CUstream_st* resolve_stream(CUstream handle, CUresult* result) {
    CUctx_st* context = current_context();
    *result = CUDA_SUCCESS;
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        return &legacy_stream(*context);
    }
    if (handle == CU_STREAM_PER_THREAD) {
        return &thread_stream(*context);
    }
    *result = check_handle(handle->state, HandleState::kStream);
    return *result == CUDA_SUCCESS ? handle : nullptr;
}

}  // namespace softcuda
