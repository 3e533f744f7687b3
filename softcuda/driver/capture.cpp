// SPDX-License-Identifier: BSD-3-Clause
// Stream capture: state per stream, mode per thread.
#include "softcuda/driver/capture.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

struct CUgraph_st {
    uint64_t nodes;
};

namespace softcuda {
namespace {

struct Capture {
    CUstream_st* stream;
    CUstreamCaptureMode mode;
    pthread_t thread;
    uint64_t id;
    uint64_t nodes;
};

struct Captures {
    std::mutex mutex;
    std::vector<Capture> active;
    uint64_t last_id = 0;
};

Captures& captures() {
    static Captures& instance = *new Captures;
    return instance;
}

std::atomic<int> active_count{0};
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

Capture* find(Captures& all, const CUstream_st& stream) {
    for (Capture& capture : all.active) {
        if (capture.stream == &stream) {
            return &capture;
        }
    }
    return nullptr;
}

CUresult begin(CUstream_st& stream, CUstreamCaptureMode mode) {
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream.kind == StreamKind::kLegacy) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    if (find(all, stream) != nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    all.active.push_back({&stream, mode, pthread_self(), ++all.last_id, 0});
    stream.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    active_count.fetch_add(1);
    return CUDA_SUCCESS;
}

CUresult end(CUstream_st& stream, CUgraph* graph) {
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    const Capture* capture = find(all, stream);
    if (capture == nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        pthread_equal(capture->thread, pthread_self()) == 0) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    const bool valid = stream.capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    *graph = valid ? new CUgraph_st{capture->nodes} : nullptr;
    std::erase_if(all.active, [&](const Capture& each) { return each.stream == &stream; });
    stream.capture = CU_STREAM_CAPTURE_STATUS_NONE;
    active_count.fetch_sub(1);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

}  // namespace

CUresult refuse_in_capture(CUstream_st& stream) {
    if (stream.capture == CU_STREAM_CAPTURE_STATUS_NONE) {
        return CUDA_SUCCESS;
    }
    stream.capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult capture_instead(CUstream_st& stream, bool* captured) {
    *captured = stream.capture != CU_STREAM_CAPTURE_STATUS_NONE;
    if (!*captured) {
        return CUDA_SUCCESS;
    }
    if (stream.capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    if (Capture* capture = find(all, stream)) {
        ++capture->nodes;
    }
    return CUDA_SUCCESS;
}

CUresult check_no_capture() {
    if (active_count.load(std::memory_order_relaxed) == 0 ||
        thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_SUCCESS;
    }
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    CUresult result = CUDA_SUCCESS;
    for (const Capture& capture : all.active) {
        const bool mine = pthread_equal(capture.thread, pthread_self()) != 0;
        const bool forbids = (capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                              (mine || thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) ||
                             (capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && mine);
        if (forbids) {
            capture.stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

void abandon_capture(CUstream_st& stream) {
    if (stream.capture == CU_STREAM_CAPTURE_STATUS_NONE) {
        return;
    }
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    if (std::erase_if(all.active, [&](const Capture& each) { return each.stream == &stream; }) >
        0) {
        active_count.fetch_sub(1);
    }
    stream.capture = CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode) {
    return call(Entry::kStreamBeginCapture, Needs::kContext, [&] {
        CUresult result = CUDA_SUCCESS;
        CUstream_st* stream = resolve_stream(hStream, &result);
        return stream != nullptr ? begin(*stream, mode) : result;
    });
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
    return call(Entry::kStreamEndCapture, Needs::kContext, [&] {
        CUresult result = CUDA_SUCCESS;
        CUstream_st* stream = resolve_stream(hStream, &result);
        if (stream != nullptr && phGraph == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return stream != nullptr ? end(*stream, phGraph) : result;
    });
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
    return call(Entry::kStreamIsCapturing, Needs::kContext, [&] {
        CUresult result = CUDA_SUCCESS;
        CUstream_st* stream = resolve_stream(hStream, &result);
        if (stream != nullptr && captureStatus == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (stream != nullptr) {
            *captureStatus = static_cast<CUstreamCaptureStatus>(stream->capture.load());
        }
        return result;
    });
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                cuuint64_t* id_out, CUgraph* graph_out,
                                const CUgraphNode** dependencies_out,
                                const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out) {
    return call(Entry::kStreamGetCaptureInfo, Needs::kContext, [&] {
        CUresult result = CUDA_SUCCESS;
        CUstream_st* stream = resolve_stream(hStream, &result);
        if (stream == nullptr || captureStatus_out == nullptr) {
            return stream == nullptr ? result : CUDA_ERROR_INVALID_VALUE;
        }
        *captureStatus_out = static_cast<CUstreamCaptureStatus>(stream->capture.load());
        if (*captureStatus_out != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
            return CUDA_SUCCESS;
        }
        if (graph_out != nullptr || dependencies_out != nullptr || edgeData_out != nullptr ||
            numDependencies_out != nullptr) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        Captures& all = captures();
        const std::lock_guard lock(all.mutex);
        const Capture* capture = find(all, *stream);
        if (id_out != nullptr && capture != nullptr) {
            *id_out = capture->id;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return call(Entry::kThreadExchangeStreamCaptureMode, Needs::kNothing, [&] {
        if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
            *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        std::swap(*mode, thread_mode);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(CUgraph hGraph) {
    return call(Entry::kGraphDestroy, Needs::kDriver, [&] {
        if (hGraph == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        delete hGraph;
        return CUDA_SUCCESS;
    });
}
