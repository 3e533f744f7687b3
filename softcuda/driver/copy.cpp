// SPDX-License-Identifier: BSD-3-Clause
// The work of copies and fills: where it runs, who waits for it, how long it takes.
#include "softcuda/driver/copy.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "softcuda/driver/access.hpp"
#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/sparse.hpp"

namespace softcuda {
namespace {

/** Copies up to this size run in the calling thread when their stream is idle: a queue hand-over
 *  costs more than the copy. */
constexpr uint64_t kInlineLimit = 64 << 10;
/** Host-to-device copies of pageable memory up to this size return once the bytes are staged, from
 *  synchronous calls as well. */
constexpr uint64_t kStageLimit = 64 << 10;

void move_rows(char* to, const char* from, const Rectangle& shape) {
    if (shape.height == 1 || (shape.to_pitch == shape.width && shape.from_pitch == shape.width)) {
        std::memmove(to, from, shape.width * shape.height);
        return;
    }
    for (uint64_t row = 0; row < shape.height; ++row) {
        std::memmove(to + row * shape.to_pitch, from + row * shape.from_pitch, shape.width);
    }
}

/** What a copy task carries. */
struct CopyWork {
    char* to;
    const char* from;
    Rectangle shape;
    void* staged;  // freed afterwards

    void operator()() const {
        const uint64_t start = start_of_link();
        move_rows(to, from, shape);
        model_link(start, shape.width * shape.height);
        std::free(staged);
    }
};

/** What the task of a large copy carries. */
struct SparseWork {
    char* to;
    const char* from;
    uint64_t bytes;
    Backing target;
    Backing source;

    void operator()() const {
        const uint64_t start = start_of_link();
        copy_sparse(to, target, from, source, bytes);
        model_link(start, bytes);
    }
};

/** Bytes from the first of the rectangle to its last. */
uint64_t extent(const Rectangle& shape, uint64_t pitch) {
    return shape.height == 0 || shape.width == 0 ? 0 : (shape.height - 1) * pitch + shape.width;
}

/** Replaces the source of `work` by a compact copy of it. */
bool stage(CopyWork& work) {
    const uint64_t bytes = work.shape.width * work.shape.height;
    char* staged = static_cast<char*>(std::malloc(bytes));
    if (staged == nullptr) {
        return false;
    }
    Rectangle inward = work.shape;
    inward.to_pitch = inward.width;
    move_rows(staged, work.from, inward);
    work.from = staged;
    work.staged = staged;
    work.shape.from_pitch = inward.width;
    return true;
}

/** Whether the context was told to complete synchronous operations before they return. */
bool synchronous(const CUstream_st& stream) {
    return (stream.context->flags & CU_CTX_SYNC_MEMOPS) != 0;
}

/** Whether the call returns only once the bytes are in place. */
bool must_wait(const Access& to, const Access& from, Wait wait) {
    const bool both_device = to.place == MemoryPlace::kDevice && from.place == MemoryPlace::kDevice;
    return wait == Wait::kIfHost
               ? !both_device
               : to.place == MemoryPlace::kPageable || from.place == MemoryPlace::kPageable;
}

/** Whether a copy is one run of bytes, large enough to look for holes in it. */
bool is_sparse(const CopyWork& work) {
    const uint64_t bytes = work.shape.width;
    return work.shape.height == 1 && bytes >= config().sparse &&
           (work.to + bytes <= work.from || work.from + bytes <= work.to);
}

CUresult run_copy(CUstream_st& stream, CopyWork work, const Access& to, const Access& from,
                  Wait wait) {
    const uint64_t bytes = work.shape.width * work.shape.height;
    const bool pageable_target = to.place == MemoryPlace::kPageable;
    const bool pageable_source = from.place == MemoryPlace::kPageable;
    const bool complete = wait == Wait::kIfHost && (to.sync || from.sync || synchronous(stream));
    bool waits = complete || must_wait(to, from, wait);
    if (config().may_inline() && (waits || bytes <= kInlineLimit) && run_inline(stream, work)) {
        return CUDA_SUCCESS;
    }
    if (!complete && pageable_source && !pageable_target && bytes <= kStageLimit) {
        waits = !stage(work);
    }
    const uint64_t ticket = enqueue(stream, work);
    if (waits) {
        wait_ticket(stream, ticket);
    }
    return CUDA_SUCCESS;
}

/** What a fill task carries. */
struct FillWork {
    char* to;
    uint64_t pitch;
    uint32_t value;
    unsigned element;
    uint64_t width;  // in elements
    uint64_t height;

    void operator()() const {
        for (uint64_t row = 0; row < height; ++row) {
            char* start = to + row * pitch;
            if (element == 1) {
                std::memset(start, static_cast<int>(value), width);
            } else if (element == 2) {
                auto* each = reinterpret_cast<uint16_t*>(start);
                std::fill(each, each + width, static_cast<uint16_t>(value));
            } else {
                auto* each = reinterpret_cast<uint32_t*>(start);
                std::fill(each, each + width, value);
            }
        }
    }
};

}  // namespace

uint64_t start_of_link() {
    const Config& settings = config();
    return settings.latency_us > 0 || settings.gigabytes_per_second > 0 ? now_ns() : 0;
}

void model_link(uint64_t start_ns, uint64_t bytes) {
    const Config& settings = config();
    double wanted = settings.latency_us * 1000;
    if (settings.gigabytes_per_second > 0) {
        wanted += static_cast<double>(bytes) / settings.gigabytes_per_second;
    }
    if (wanted <= 0) {
        return;
    }
    const uint64_t end = start_ns + static_cast<uint64_t>(wanted);
    const timespec until{static_cast<time_t>(end / 1000000000),
                         static_cast<long>(end % 1000000000)};
    // The kernel adds 50 us to a sleep unless asked not to: more than many copies take.
    const int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
    prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
}

CUresult fault_context(CUctx_st& context, Wait wait) {
    context.error = CUDA_ERROR_ILLEGAL_ADDRESS;
    return wait == Wait::kIfHost ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

CUresult copy(uint64_t to, uint64_t from, const Rectangle& shape, CUstream handle, Wait wait) {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = resolve_stream(handle, &result);
    if (stream == nullptr) {
        return result;
    }
    CUctx_st& context = *stream->context;  // not the current one: the stream says where it runs
    const Access target = check_access(context, to, extent(shape, shape.to_pitch), true);
    const Access source = check_access(context, from, extent(shape, shape.from_pitch), false);
    for (const CUresult each : {target.result, source.result}) {
        if (each == CUDA_ERROR_ILLEGAL_ADDRESS) {
            return fault_context(context, wait);
        }
        if (each != CUDA_SUCCESS) {
            return each;
        }
    }
    bool captured = false;
    result =
        wait == Wait::kIfHost ? refuse_in_capture(*stream) : capture_instead(*stream, &captured);
    if (result != CUDA_SUCCESS || captured || shape.width == 0 || shape.height == 0) {
        return result;
    }
    const CopyWork work{alias(to), alias(from), shape, nullptr};
    if (is_sparse(work)) {
        const uint64_t ticket = enqueue(
            *stream, SparseWork{work.to, work.from, shape.width, backing_of(to), backing_of(from)});
        if (must_wait(target, source, wait)) {
            wait_ticket(*stream, ticket);
        }
        return CUDA_SUCCESS;
    }
    return run_copy(*stream, work, target, source, wait);
}

CUresult fill(uint64_t to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width,
              uint64_t height, CUstream handle, Wait wait) {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = resolve_stream(handle, &result);
    if (stream == nullptr) {
        return result;
    }
    if (to % element != 0 || (height > 1 && pitch % element != 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUctx_st& context = *current_context();
    const Rectangle shape{width * element, height, pitch, pitch};
    const Access target = check_access(context, to, extent(shape, pitch), true);
    if (target.result == CUDA_ERROR_ILLEGAL_ADDRESS) {
        return fault_context(context, wait);
    }
    // Fills are device work: of host memory, only what devices can reach.
    if (target.result != CUDA_SUCCESS || target.place == MemoryPlace::kPageable) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool captured = false;
    result =
        wait == Wait::kIfHost ? refuse_in_capture(*stream) : capture_instead(*stream, &captured);
    if (result != CUDA_SUCCESS || captured || width == 0 || height == 0) {
        return result;
    }
    const FillWork work{alias(to), pitch, value, element, width, height};
    if (config().may_inline() && shape.width * height <= kInlineLimit &&
        run_inline(*stream, work)) {
        return CUDA_SUCCESS;
    }
    const uint64_t ticket = enqueue(*stream, work);
    if (wait == Wait::kIfHost &&
        (target.place != MemoryPlace::kDevice || target.sync || synchronous(*stream))) {
        wait_ticket(*stream, ticket);
    }
    return CUDA_SUCCESS;
}

}  // namespace softcuda
