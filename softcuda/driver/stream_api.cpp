// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of streams.
#include <algorithm>
#include <atomic>

#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/context.hpp"
#include "softcuda/driver/event.hpp"
#include "softcuda/driver/graveyard.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/stream.hpp"

namespace softcuda {
namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

/** Runs `body` with the stream `handle` means, or returns what is wrong with it. */
template <class Body>
CUresult with_stream(CUstream handle, Body body) {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = resolve_stream(handle, &result);
    return stream != nullptr ? body(*stream) : result;
}

CUresult create(CUstream* out, unsigned flags, int priority) {
    if (out == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const StreamKind kind =
        (flags & CU_STREAM_NON_BLOCKING) != 0 ? StreamKind::kNonBlocking : StreamKind::kBlocking;
    *out = make_stream(*current_context(), kind, false,
                       std::clamp(priority, kGreatestPriority, kLeastPriority));
    ledger.streams.fetch_add(1);
    return CUDA_SUCCESS;
}

}  // namespace

void release_stream(CUstream_st* stream) noexcept {
    if (stream->refs.fetch_sub(1) == 1) {
        bury(stream);
    }
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) {
    return call(Entry::kStreamCreate, Needs::kContext,
                [&] { return create(phStream, Flags, kLeastPriority); });
}

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
    return call(Entry::kStreamCreateWithPriority, Needs::kContext,
                [&] { return create(phStream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream hStream) {
    return call(Entry::kStreamDestroy, Needs::kDriver, [&] {
        if (hStream == nullptr || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        const CUresult result = check_handle(hStream->state, HandleState::kStream);
        if (result != CUDA_SUCCESS) {
            return result;
        }
        CUctx_st& context = *hStream->context;
        {
            const std::lock_guard lock(context.mutex);
            std::erase(context.streams, hStream);
        }
        abandon_capture(*hStream);
        close_stream(*hStream, HandleState::kDestroyed);
        ledger.streams.fetch_sub(1);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamQuery(CUstream hStream) {
    return call(Entry::kStreamQuery, Needs::kContext, [&] {
        return with_stream(hStream, [](CUstream_st& stream) {
            if (const CUresult result = refuse_in_capture(stream); result != CUDA_SUCCESS) {
                return result;
            }
            return stream.pending() ? not_ready() : check_context();
        });
    });
}

CUresult cuStreamSynchronize(CUstream hStream) {
    return call(Entry::kStreamSynchronize, Needs::kContext, [&] {
        return with_stream(hStream, [](CUstream_st& stream) {
            if (const CUresult result = refuse_in_capture(stream); result != CUDA_SUCCESS) {
                return result;
            }
            drain(stream);
            return check_context();
        });
    });
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    return call(Entry::kStreamWaitEvent, Needs::kContext, [&] {
        if (Flags > CU_EVENT_WAIT_EXTERNAL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return with_stream(hStream,
                           [&](CUstream_st& stream) { return stream_wait_event(stream, hEvent); });
    });
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
    return call(Entry::kStreamGetPriority, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (priority == nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *priority = stream.priority;
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
    return call(Entry::kStreamGetFlags, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (flags == nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *flags = stream.kind == StreamKind::kNonBlocking ? CU_STREAM_NON_BLOCKING
                                                             : CU_STREAM_DEFAULT;
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
    return call(Entry::kStreamGetId, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (streamId == nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *streamId = stream.id;
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
    return call(Entry::kStreamGetCtx, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (pctx == nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *pctx = stream.context;
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
    return call(Entry::kStreamGetDevice, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (device == nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *device = stream.context->device->ordinal;
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
    return call(Entry::kCtxGetStreamPriorityRange, Needs::kContext, [&] {
        if (leastPriority != nullptr) {
            *leastPriority = kLeastPriority;
        }
        if (greatestPriority != nullptr) {
            *greatestPriority = kGreatestPriority;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
    return call(Entry::kLaunchHostFunc, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (fn == nullptr) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            bool captured = false;
            const CUresult result = capture_instead(stream, &captured);
            if (result == CUDA_SUCCESS && !captured) {
                enqueue(stream, [fn, userData] {
                    in_host_function() = true;
                    fn(userData);
                    in_host_function() = false;
                });
            }
            return result;
        });
    });
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
    return call(Entry::kStreamAddCallback, Needs::kContext, [&] {
        return with_stream(hStream, [&](CUstream_st& stream) {
            if (callback == nullptr || flags != 0) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            if (const CUresult result = refuse_in_capture(stream); result != CUDA_SUCCESS) {
                return result;
            }
            enqueue(stream, [callback, userData, hStream] {
                in_host_function() = true;
                callback(hStream, CUDA_SUCCESS, userData);
                in_host_function() = false;
            });
            return CUDA_SUCCESS;
        });
    });
}
