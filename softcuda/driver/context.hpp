// SPDX-License-Identifier: BSD-3-Clause
// Contexts: what belongs to them, which one is current in each thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "softcuda/driver/device.hpp"
#include "softcuda/driver/driver.hpp"
#include "softcuda/driver/stream.hpp"

/** A context. Never freed, so that a handle to a destroyed one can be recognised. */
struct CUctx_st {
    CUctx_st(softcuda::Device* of, bool is_primary, uint64_t number)
        : device(of), primary(is_primary), id(number) {}

    softcuda::Device* const device;
    const bool primary;
    const uint64_t id;
    std::atomic<bool> alive{false};
    std::atomic<unsigned> flags{0};
    std::atomic<int> error{CUDA_SUCCESS};  // sticky
    int retained = 0;                      // primary only; under contexts_mutex

    // Held while work is put in a blocking stream or in the default stream, so that their mutual
    // dependencies are seen in one order.
    std::mutex order;
    std::mutex mutex;  // guards what follows
    std::vector<CUstream_st*> streams;
    std::vector<CUevent_st*> events;
    std::vector<CUmod_st*> modules;
    std::vector<CUctx_st*> peers;
    std::atomic<CUstream_st*> legacy{nullptr};
};

namespace softcuda {

/** Guards which contexts there are and how often primary ones are retained. */
std::mutex& contexts_mutex();

/** Makes a context that is not alive yet; contexts_mutex is held. */
CUctx_st* make_context(Device& device, bool primary);

/** Brings a context to life. */
void activate(CUctx_st& context, unsigned flags);

/** Ends everything the context owns. Its handles answer CUDA_ERROR_CONTEXT_IS_DESTROYED. */
void deactivate(CUctx_st& context);

/** The contexts of this thread, the current one last. */
std::vector<CUctx_st*>& context_stack();

/** The current context of this thread, nullptr if none; it may be destroyed. */
CUctx_st* current_context() noexcept;

/** Whether `context` is one of ours (destroyed or not). */
bool known_context(CUctx_st* context);

/** CUDA_SUCCESS if the thread has a live context without sticky error. */
CUresult check_context() noexcept;

/** The default stream of `context`, made on first use. */
CUstream_st& legacy_stream(CUctx_st& context);

/** The stream CU_STREAM_PER_THREAD means in this thread and `context`. */
CUstream_st& thread_stream(CUctx_st& context);

/** A new stream owned by `context`. */
CUstream_st* make_stream(CUctx_st& context, StreamKind kind, bool internal, int priority);

/** Waits for all streams of `context`. */
void drain_context(CUctx_st& context);

/** Waits for all work on `device`: what freeing memory does. */
void drain_device(const Device& device);

}  // namespace softcuda
