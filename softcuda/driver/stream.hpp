// SPDX-License-Identifier: BSD-3-Clause
// Streams: queues of tasks, each run by one worker thread, in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <type_traits>

#include "softcuda/driver/driver.hpp"

namespace softcuda {

/** A small closure without destructor: what a stream runs. Pointers in it are kept alive by whoever
 *  enqueued it, or released by the closure itself. */
class Task {
 public:
    template <class Function>
    Task(const Function& function)  // NOLINT: closures become tasks where they are written
        : run_([](void* storage) { (*static_cast<Function*>(storage))(); }) {
        static_assert(std::is_trivially_copyable_v<Function>);
        static_assert(sizeof(Function) <= kCapacity && alignof(Function) <= alignof(uint64_t));
        new (storage_) Function(function);
    }
    void operator()() { run_(storage_); }

 private:
    static constexpr size_t kCapacity = 96;
    void (*run_)(void*);
    alignas(uint64_t) std::byte storage_[kCapacity];
};

/** Memory of a destroyed object is kept a while, so that a stale handle is an error and no crash.
 */
enum class HandleState : uint32_t {
    kStream = 0x5353aa01,
    kEvent = 0x5353aa02,
    kDestroyed = 0x5353aaee,
    kContextGone = 0x5353aaff
};

/** CUDA_SUCCESS if `state` is `wanted`, else what the driver answers for the stale handle. */
CUresult check_handle(HandleState state, HandleState wanted) noexcept;

/** The answer of a query whose work is still under way. Gives up the processor first: the thread
 * that does the work may be waiting for one, and who polls is in no hurry. */
CUresult not_ready() noexcept;

/** How a stream relates to the legacy default stream of its context. */
enum class StreamKind { kLegacy, kBlocking, kNonBlocking };

}  // namespace softcuda

/** A stream. Reference counted: one for the handle, one for its worker, one for each wait on it. */
struct CUstream_st {
    CUstream_st(CUctx_st* owner, softcuda::StreamKind stream_kind, bool made_by_driver,
                int stream_priority, uint64_t stream_id)
        : context(owner),
          kind(stream_kind),
          internal(made_by_driver),
          priority(stream_priority),
          id(stream_id) {}

    std::atomic<softcuda::HandleState> state{softcuda::HandleState::kStream};
    CUctx_st* const context;
    const softcuda::StreamKind kind;
    const bool internal;  // the default stream of a context or of a thread
    const int priority;
    const uint64_t id;
    std::atomic<int> refs{1};
    std::atomic<uint64_t> submitted{0};
    std::atomic<uint64_t> completed{0};
    std::atomic<int> capture{CU_STREAM_CAPTURE_STATUS_NONE};

    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable done;
    std::deque<softcuda::Task> queue;
    bool busy = false;
    bool has_worker = false;
    bool closing = false;

    /** Whether anything submitted has not finished. */
    bool pending() const noexcept {
        return completed.load(std::memory_order_acquire) !=
               submitted.load(std::memory_order_acquire);
    }
};

namespace softcuda {

/** Adds `task` behind all earlier work the default-stream rules order it after. The ticket is for
 *  wait_ticket. */
uint64_t enqueue(CUstream_st& stream, const Task& task);

/** Runs `task` in the calling thread if nothing it must follow is unfinished; false: not run. */
bool run_inline(CUstream_st& stream, Task task);

/** Waits until the work with `ticket` and all before it is done. */
void wait_ticket(CUstream_st& stream, uint64_t ticket);

/** Waits for everything submitted so far. */
void drain(CUstream_st& stream);

/** What a stream handle given to a driver call means in the current context; nullptr and a result
 *  if it is not valid. 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are resolved. */
CUstream_st* resolve_stream(CUstream handle, CUresult* result);

/** Takes the stream out of service: the worker finishes the queue and leaves. */
void close_stream(CUstream_st& stream, HandleState state);

void release_stream(CUstream_st* stream) noexcept;

}  // namespace softcuda
