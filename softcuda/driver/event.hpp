// SPDX-License-Identifier: BSD-3-Clause
// Events: counters of issued and completed records, in memory that processes can share.
#pragma once

#include <atomic>
#include <cstdint>

#include "softcuda/driver/context.hpp"
#include "softcuda/driver/driver.hpp"

namespace softcuda {

/** The shared part of an event: on the heap, or one page of a memfd for an interprocess one. */
struct EventState {
    uint64_t magic;
    std::atomic<uint64_t> generation;  // 0 once the exporter has destroyed the event
    std::atomic<uint64_t> issued;      // number of the last cuEventRecord
    std::atomic<uint64_t> done;        // number of the last one that completed
    std::atomic<uint64_t> completed_ns;
    std::atomic<uint32_t> sequence;  // futex word, changes at every completion
    int32_t pid;                     // of the recording process, to notice its death
    std::atomic<uint32_t> waiters;   // threads in or near a futex wait: nobody is woken for 0
};

/** Owns an EventState for its users in this process. */
struct EventMemory {
    EventState* state = nullptr;
    int fd = -1;  // interprocess only
    std::atomic<int> refs{1};
};

}  // namespace softcuda

struct CUevent_st {
    std::atomic<softcuda::HandleState> state{softcuda::HandleState::kEvent};
    CUctx_st* context = nullptr;
    unsigned flags = 0;
    bool imported = false;
    softcuda::EventMemory* memory = nullptr;
};

namespace softcuda {

/** Makes `stream` wait for the record of `event` issued last; no-op if there was none. */
CUresult stream_wait_event(CUstream_st& stream, CUevent_st* event);

/** Takes the event out of service. */
void close_event(CUevent_st& event, HandleState state);

}  // namespace softcuda
