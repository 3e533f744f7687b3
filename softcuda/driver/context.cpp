// SPDX-License-Identifier: BSD-3-Clause
// Contexts: primary and user ones, the stack of each thread, life and death of what they own.
#include "softcuda/driver/context.hpp"

#include <algorithm>

#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/event.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/memory.hpp"
#include "softcuda/driver/module.hpp"

namespace softcuda {
namespace {

struct Contexts {
    std::mutex mutex;
    std::vector<CUctx_st*> all;  // destroyed ones too
    std::atomic<uint64_t> last_stream_id{0};
};

Contexts& contexts() {
    static Contexts& instance = *new Contexts;
    return instance;
}

struct ThreadStream {
    CUctx_st* context;
    CUstream_st* stream;
};

}  // namespace

std::mutex& contexts_mutex() {
    return contexts().mutex;
}

std::vector<CUctx_st*>& context_stack() {
    thread_local std::vector<CUctx_st*> instance;
    return instance;
}

CUctx_st* make_context(Device& device, bool primary) {
    Contexts& known = contexts();
    known.all.push_back(new CUctx_st(&device, primary, known.all.size() + 1));
    return known.all.back();
}

void activate(CUctx_st& context, unsigned flags) {
    context.flags = flags;
    context.error = CUDA_SUCCESS;
    context.alive = true;
    ledger.contexts.fetch_add(1);
    ledger.contexts_created.fetch_add(1);
}

void deactivate(CUctx_st& context) {
    if (!context.alive.exchange(false)) {
        return;
    }
    drain_context(context);
    std::vector<CUstream_st*> streams;
    std::vector<CUevent_st*> events;
    std::vector<CUmod_st*> modules;
    {
        const std::lock_guard lock(context.mutex);
        streams.swap(context.streams);
        events.swap(context.events);
        modules.swap(context.modules);
        context.peers.clear();
        context.legacy = nullptr;
    }
    for (CUstream_st* stream : streams) {
        if (!stream->internal) {
            ledger.streams.fetch_sub(1);
        }
        abandon_capture(*stream);
        close_stream(*stream, HandleState::kContextGone);
    }
    for (CUevent_st* event : events) {
        close_event(*event, HandleState::kContextGone);
        ledger.events.fetch_sub(1);
    }
    for (CUmod_st* module : modules) {
        forget_module(module);
    }
    free_memory_of(context);
    ledger.contexts.fetch_sub(1);
}

CUctx_st* current_context() noexcept {
    return context_stack().empty() ? nullptr : context_stack().back();
}

bool known_context(CUctx_st* context) {
    Contexts& known = contexts();
    const std::lock_guard lock(known.mutex);
    return std::find(known.all.begin(), known.all.end(), context) != known.all.end();
}

CUresult check_context() noexcept {
    const CUctx_st* context = current_context();
    if (context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!context->alive.load(std::memory_order_acquire)) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    return static_cast<CUresult>(context->error.load(std::memory_order_relaxed));
}

CUstream_st* make_stream(CUctx_st& context, StreamKind kind, bool internal, int priority) {
    auto* stream = new CUstream_st(&context, kind, internal, priority, ++contexts().last_stream_id);
    const std::lock_guard lock(context.mutex);
    context.streams.push_back(stream);
    return stream;
}

CUstream_st& legacy_stream(CUctx_st& context) {
    CUstream_st* stream = context.legacy.load(std::memory_order_acquire);
    if (stream == nullptr) {
        const std::lock_guard order(context.order);
        stream = context.legacy.load(std::memory_order_acquire);
        if (stream == nullptr) {
            stream = make_stream(context, StreamKind::kLegacy, true, 0);
            context.legacy.store(stream, std::memory_order_release);
        }
    }
    return *stream;
}

CUstream_st& thread_stream(CUctx_st& context) {
    thread_local std::vector<ThreadStream> mine;
    for (ThreadStream& each : mine) {
        if (each.context == &context) {
            if (each.stream->state != HandleState::kStream) {
                each.stream = make_stream(context, StreamKind::kBlocking, true, 0);
            }
            return *each.stream;
        }
    }
    mine.push_back({&context, make_stream(context, StreamKind::kBlocking, true, 0)});
    return *mine.back().stream;
}

void drain_context(CUctx_st& context) {
    std::vector<CUstream_st*> streams;
    {
        const std::lock_guard lock(context.mutex);
        for (CUstream_st* stream : context.streams) {
            if (stream->pending()) {
                stream->refs.fetch_add(1);
                streams.push_back(stream);
            }
        }
    }
    for (CUstream_st* stream : streams) {
        drain(*stream);
        release_stream(stream);
    }
}

void drain_device(const Device& device) {
    std::vector<CUctx_st*> all;
    {
        const std::lock_guard lock(contexts().mutex);
        all = contexts().all;
    }
    for (CUctx_st* context : all) {
        if (context->device == &device) {
            drain_context(*context);
        }
    }
}

}  // namespace softcuda
