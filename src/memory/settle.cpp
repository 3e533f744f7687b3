// SPDX-License-Identifier: BSD-3-Clause
// Allocations that were seen, by buffer id, and what is done for a new one.
#include "memory/settle.hpp"

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>

#include "base/log.hpp"
#include "config/config.hpp"
#include "cuda/context.hpp"

namespace beeline::memory {
namespace {

/// Ids are handed out in sequence, so the low bits spread them. One that is displaced is settled
/// again.
constexpr std::size_t kSeen = 4096;
std::array<std::atomic<std::uint64_t>, kSeen> seen{};

/// The context whose default stream was last found occupied for longer than we wait: a kernel that
/// runs for ever, perhaps. Not waited for again until it was seen idle.
std::atomic<CUcontext> occupied{nullptr};

/// Set in the id of what is seen and refuses SYNC_MEMOPS.
constexpr std::uint64_t kUnordered = std::uint64_t{1} << 63;

/// Makes the application's synchronous operations on the memory complete before they return; false
/// when the driver does not do that for this kind of memory (VMM, pools). CU_CTX_SYNC_MEMOPS would,
/// but it changes the application's context under its threads.
bool complete_synchronous(const cuda::Driver& driver, const Pointer& memory) noexcept {
    const unsigned on = 1;
    return driver.cuPointerSetAttribute != nullptr &&
           driver.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory.base) ==
               CUDA_SUCCESS;
}

/// False when it is not known: a capture is under way that a query of the default stream would end.
bool may_query(const cuda::Driver& driver) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.cuStreamQuery != nullptr && driver.cuStreamIsCapturing != nullptr &&
           driver.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS;
}

/// Asks rather than enqueues: an event in the default stream would hold up the application's other
/// streams.
void wait_for_default_stream(const cuda::Driver& driver, const Pointer& memory) noexcept {
    using Clock = std::chrono::steady_clock;
    const int limit = config::params().pml_default_stream_wait;
    if (limit == 0 || !may_query(driver)) {
        return;
    }
    if (driver.cuStreamQuery(CU_STREAM_LEGACY) != CUDA_ERROR_NOT_READY) {
        if (occupied.load(std::memory_order_relaxed) == memory.context) {
            occupied.store(nullptr, std::memory_order_relaxed);
        }
        return;
    }
    if (occupied.load(std::memory_order_relaxed) == memory.context) {
        return;
    }
    const auto end = Clock::now() + std::chrono::milliseconds(limit);
    while (driver.cuStreamQuery(CU_STREAM_LEGACY) == CUDA_ERROR_NOT_READY) {
        if (Clock::now() >= end) {
            occupied.store(memory.context, std::memory_order_relaxed);
            log_once(LogLevel::kWarning, "memory.default_stream",
                     "the default stream was busy for %d ms when device pointer %p was first used: "
                     "its messages no longer wait for that stream, so copies and fills that still "
                     "run there must be synchronised with before MPI is called "
                     "(pml_beeline_default_stream_wait)",
                     limit, reinterpret_cast<const void*>(memory.base));
            return;
        }
        sched_yield();
    }
}

/// What is remembered of the memory.
[[gnu::cold]] std::uint64_t settle_new(const Pointer& memory) noexcept {
    const cuda::Driver& driver = *memory.driver;
    const cuda::ContextScope scope(driver, memory.context);
    if (scope.result() != CUDA_SUCCESS) {
        return memory.buffer_id;
    }
    const bool ordered = complete_synchronous(driver, memory);
    wait_for_default_stream(driver, memory);
    return ordered ? memory.buffer_id : memory.buffer_id | kUnordered;
}

}  // namespace

void settle(const Pointer& memory) noexcept {
    std::atomic<std::uint64_t>& place = seen[memory.buffer_id % kSeen];
    const std::uint64_t before = place.load(std::memory_order_relaxed);
    if (before == memory.buffer_id) {
        return;
    }
    if (before == (memory.buffer_id | kUnordered)) {
        const cuda::ContextScope scope(*memory.driver, memory.context);
        if (scope.result() == CUDA_SUCCESS) {
            wait_for_default_stream(*memory.driver, memory);
        }
        return;
    }
    place.store(settle_new(memory), std::memory_order_relaxed);
}

}  // namespace beeline::memory
