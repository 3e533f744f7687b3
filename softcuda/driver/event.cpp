// SPDX-License-Identifier: BSD-3-Clause
// Events within a process and between processes.
#include "softcuda/driver/event.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>

#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/graveyard.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/segment.hpp"

namespace softcuda {
namespace {

constexpr uint64_t kEventMagic = 0x5343455645303031;  // "SCEVE001"
constexpr size_t kEventPage = 4096;
constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

/** What a CUipcEventHandle carries. */
struct EventHandle {
    uint64_t magic;
    uint64_t generation;
    int32_t pid;
    int32_t fd;
    char unused[40];
};
static_assert(sizeof(EventHandle) == sizeof(CUipcEventHandle));

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

/** Waits until record number `wanted` is complete. A process that died completes nothing more, so
 *  its events count as complete, as when a driver tears a dead process down. */
void wait_for(EventState& state, uint64_t wanted) {
    if (state.done.load(std::memory_order_acquire) >= wanted) {
        return;
    }
    state.waiters.fetch_add(1);
    while (state.done.load(std::memory_order_acquire) < wanted) {
        const uint32_t seen = state.sequence.load();
        if (state.done.load() >= wanted) {
            break;
        }
        const timespec timeout{0, 100 * 1000 * 1000};
        if (futex(&state.sequence, FUTEX_WAIT, seen, &timeout) != 0 && errno == ETIMEDOUT &&
            state.pid != getpid() && kill(state.pid, 0) != 0 && errno == ESRCH) {
            break;
        }
    }
    state.waiters.fetch_sub(1);
}

void complete(EventState& state, uint64_t number) {
    state.completed_ns.store(now_ns(), std::memory_order_relaxed);
    uint64_t before = state.done.load(std::memory_order_relaxed);
    while (before < number && !state.done.compare_exchange_weak(before, number)) {
    }
    state.sequence.fetch_add(1);
    if (state.waiters.load() != 0) {
        futex(&state.sequence, FUTEX_WAKE, INT_MAX, nullptr);
    }
}

void release(EventMemory* memory) noexcept {
    if (memory->refs.fetch_sub(1) != 1) {
        return;
    }
    if (memory->fd >= 0) {
        munmap(memory->state, kEventPage);
        close(memory->fd);
    } else {
        delete memory->state;
    }
    delete memory;
}

EventMemory* map_memory(int fd) {
    void* page = mmap(nullptr, kEventPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        close(fd);
        throw std::bad_alloc();
    }
    auto* memory = new EventMemory;
    memory->state = static_cast<EventState*>(page);
    memory->fd = fd;
    return memory;
}

EventMemory* make_memory(bool interprocess) {
    EventMemory* memory = nullptr;
    if (interprocess) {
        const int fd = memfd_create("softcuda-event", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, kEventPage) != 0) {
            throw std::bad_alloc();
        }
        memory = map_memory(fd);
    } else {
        memory = new EventMemory;
        memory->state = new EventState{};
    }
    memory->state->magic = kEventMagic;
    memory->state->generation = new_generation();
    memory->state->pid = getpid();
    return memory;
}

CUevent_st* make_event(CUctx_st& context, EventMemory* memory, unsigned flags, bool imported) {
    auto* event = new CUevent_st;
    event->context = &context;
    event->flags = flags;
    event->imported = imported;
    event->memory = memory;
    const std::lock_guard lock(context.mutex);
    context.events.push_back(event);
    ledger.events.fetch_add(1);
    return event;
}

CUresult check_event(CUevent_st* event) {
    return event == nullptr ? CUDA_ERROR_INVALID_HANDLE
                            : check_handle(event->state, HandleState::kEvent);
}

CUresult record(CUevent_st* event, CUstream handle, unsigned flags) {
    CUresult result = check_event(event);
    CUstream_st* stream = result == CUDA_SUCCESS ? resolve_stream(handle, &result) : nullptr;
    if (stream == nullptr) {
        return result;
    }
    if (stream->context != event->context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (flags > CU_EVENT_RECORD_EXTERNAL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool captured = false;
    result = capture_instead(*stream, &captured);
    if (result != CUDA_SUCCESS || captured) {
        return result;
    }
    EventMemory* memory = event->memory;
    const uint64_t number = memory->state->issued.fetch_add(1) + 1;
    if (config().may_inline() &&
        run_inline(*stream, [memory, number] { complete(*memory->state, number); })) {
        return CUDA_SUCCESS;
    }
    memory->refs.fetch_add(1);
    enqueue(*stream, [memory, number] {
        complete(*memory->state, number);
        release(memory);
    });
    return CUDA_SUCCESS;
}

CUresult open_handle(CUevent* out, const CUipcEventHandle& opaque) {
    EventHandle handle;
    std::memcpy(&handle, &opaque, sizeof handle);
    if (handle.magic != kEventMagic) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (handle.pid == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const int fd = open_peer_fd(handle.pid, handle.fd);
    if (fd < 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (lseek(fd, 0, SEEK_END) != static_cast<off_t>(kEventPage)) {
        close(fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    EventMemory* memory = map_memory(fd);
    if (memory->state->magic != kEventMagic || memory->state->generation != handle.generation) {
        release(memory);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = make_event(*current_context(), memory, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING,
                      true);
    return CUDA_SUCCESS;
}

}  // namespace

CUresult stream_wait_event(CUstream_st& stream, CUevent_st* event) {
    if (const CUresult result = check_event(event); result != CUDA_SUCCESS) {
        return result;
    }
    bool captured = false;
    const CUresult result = capture_instead(stream, &captured);
    if (result != CUDA_SUCCESS || captured) {
        return result;
    }
    EventMemory* memory = event->memory;
    const uint64_t number = memory->state->issued.load(std::memory_order_acquire);
    if (memory->state->done.load(std::memory_order_acquire) >= number) {
        return CUDA_SUCCESS;
    }
    memory->refs.fetch_add(1);
    enqueue(stream, [memory, number] {
        wait_for(*memory->state, number);
        release(memory);
    });
    return CUDA_SUCCESS;
}

void close_event(CUevent_st& event, HandleState state) {
    event.state = state;
    if (!event.imported) {
        event.memory->state->generation = 0;
    }
    release(event.memory);
    event.memory = nullptr;
    bury(&event);
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
    return call(Entry::kEventCreate, Needs::kContext, [&] {
        const bool interprocess = (Flags & CU_EVENT_INTERPROCESS) != 0;
        if (phEvent == nullptr || (Flags & ~kEventFlags) != 0 ||
            (interprocess && (Flags & CU_EVENT_DISABLE_TIMING) == 0)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *phEvent = make_event(*current_context(), make_memory(interprocess), Flags, false);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventDestroy(CUevent hEvent) {
    return call(Entry::kEventDestroy, Needs::kDriver, [&] {
        if (const CUresult result = check_event(hEvent); result != CUDA_SUCCESS) {
            return result;
        }
        {
            const std::lock_guard lock(hEvent->context->mutex);
            std::erase(hEvent->context->events, hEvent);
        }
        close_event(*hEvent, HandleState::kDestroyed);
        ledger.events.fetch_sub(1);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
    return call(Entry::kEventRecord, Needs::kContext,
                [&] { return record(hEvent, hStream, CU_EVENT_RECORD_DEFAULT); });
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    return call(Entry::kEventRecordWithFlags, Needs::kContext,
                [&] { return record(hEvent, hStream, flags); });
}

CUresult cuEventQuery(CUevent hEvent) {
    return call(Entry::kEventQuery, Needs::kNoCapture, [&] {
        if (const CUresult result = check_event(hEvent); result != CUDA_SUCCESS) {
            return result;
        }
        const EventState& state = *hEvent->memory->state;
        return state.done.load(std::memory_order_acquire) >= state.issued.load() ? check_context()
                                                                                 : not_ready();
    });
}

CUresult cuEventSynchronize(CUevent hEvent) {
    return call(Entry::kEventSynchronize, Needs::kNoCapture, [&] {
        if (const CUresult result = check_event(hEvent); result != CUDA_SUCCESS) {
            return result;
        }
        EventMemory* memory = hEvent->memory;
        memory->refs.fetch_add(1);
        wait_for(*memory->state, memory->state->issued.load());
        release(memory);
        return check_context();
    });
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
    return call(Entry::kEventElapsedTime, Needs::kContext, [&] {
        for (CUevent_st* event : {hStart, hEnd}) {
            if (const CUresult result = check_event(event); result != CUDA_SUCCESS) {
                return result;
            }
            const EventState& state = *event->memory->state;
            if ((event->flags & CU_EVENT_DISABLE_TIMING) != 0 || state.issued.load() == 0) {
                return CUDA_ERROR_INVALID_HANDLE;
            }
            if (state.done.load(std::memory_order_acquire) < state.issued.load()) {
                return CUDA_ERROR_NOT_READY;
            }
        }
        if (pMilliseconds == nullptr || hStart->context != hEnd->context) {
            return pMilliseconds == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        const auto start = static_cast<int64_t>(hStart->memory->state->completed_ns.load());
        const auto end = static_cast<int64_t>(hEnd->memory->state->completed_ns.load());
        *pMilliseconds = static_cast<float>(static_cast<double>(end - start) * 1e-6);
        return CUDA_SUCCESS;
    });
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
    return call(Entry::kIpcGetEventHandle, Needs::kContext, [&] {
        if (const CUresult result = check_event(event); result != CUDA_SUCCESS) {
            return result;
        }
        if (pHandle == nullptr || (event->flags & CU_EVENT_INTERPROCESS) == 0 || event->imported) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const EventHandle handle{
            kEventMagic, event->memory->state->generation.load(), getpid(), event->memory->fd, {}};
        std::memcpy(pHandle, &handle, sizeof handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
    return call(Entry::kIpcOpenEventHandle, Needs::kContext, [&] {
        return phEvent == nullptr ? CUDA_ERROR_INVALID_VALUE : open_handle(phEvent, handle);
    });
}
