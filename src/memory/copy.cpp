// SPDX-License-Identifier: BSD-3-Clause
// Streams and events kept per CUDA context, and the copies that run on them.
#include "memory/copy.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "config/config.hpp"
#include "cuda/context.hpp"
#include "memory/always_host.hpp"
#include "memory/packed.hpp"

namespace beeline::memory {

struct Slot {
    cuda::Event event;
    struct ContextStreams* home = nullptr;
    const void* pointer = nullptr;  // named when the copy fails
    Slot* next = nullptr;
};

/// What Beeline owns in one context. Kept until finalize, or until the context turns out to be
/// gone.
struct ContextStreams {
    const cuda::Driver* driver = nullptr;
    CUcontext context = nullptr;
    // Made when first needed: for copies that are waited for at once, and for those that are asked
    // for later, to the device and away from it, as a GPU has an engine for each.
    cuda::Stream immediate;
    cuda::Stream inward;
    cuda::Stream outward;
    RunKernels kernels;
    CUdeviceptr packed = 0;  ///< room for packed data on its way to or from pageable memory
    Slot* free_slots = nullptr;
    bool dead = false;  // context gone: never used again, kept for slots still out
};

namespace {

constexpr int kEventsAtOnce = 8;

std::mutex mutex;
std::atomic<unsigned> lost{0};

std::vector<std::unique_ptr<ContextStreams>>& table() {
    static auto* all = new std::vector<std::unique_ptr<ContextStreams>>;
    return *all;
}

ContextStreams* find_streams(const Pointer& side) noexcept {
    for (auto& streams : table()) {
        if (streams->context == side.context && !streams->dead) {
            return streams.get();
        }
    }
    return nullptr;
}

ContextStreams* streams_of(const Pointer& side) {
    if (ContextStreams* known = find_streams(side); known != nullptr) {
        return known;
    }
    auto made = std::make_unique<ContextStreams>();
    made->driver = side.driver;
    made->context = side.context;
    table().push_back(std::move(made));
    return table().back().get();
}

/// Needs the context of the streams current unless there is a free one.
Slot* take_slot(ContextStreams& streams) {
    if (streams.free_slots == nullptr) {
        // Several, so that the context is pushed for them once.
        for (int i = 0; i < kEventsAtOnce; ++i) {
            auto event = cuda::Event::create(*streams.driver);
            if (!event) {
                break;
            }
            streams.free_slots = new Slot{std::move(*event), &streams, nullptr, streams.free_slots};
        }
    }
    Slot* slot = streams.free_slots;
    if (slot != nullptr) {
        streams.free_slots = slot->next;
    }
    return slot;
}

CUdeviceptr address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// What work must find to run without its context being current. Kernels run with it always.
struct Needs {
    cuda::Stream ContextStreams::*stream = nullptr;  ///< null: the context, whatever is there
    bool event = false;
};

/// How many calls of run() by this thread go straight to pushing the context, after one that had
/// to.
constinit thread_local unsigned pushes = 0;
constexpr unsigned kPushes = 64;

/// Copies, and events recorded in their own stream's context, need any current context, not the
/// stream's: the stream says where they run (CUDA Programming Guide, "Stream and Event Behavior").
/// So the context is left alone as long as the streams, and an event for the copy, are there.
/// CUDA_ERROR_INVALID_CONTEXT: to be done with the side's context current.
template <class Enqueue>
CUresult run_in_callers_context(const Pointer& side, Needs needs, Enqueue& enqueue) noexcept {
    if (needs.stream == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (pushes != 0) {
        --pushes;
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    ContextStreams* streams = find_streams(side);
    if (streams == nullptr || !(streams->*needs.stream) ||
        (needs.event && streams->free_slots == nullptr)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const CUresult result = enqueue(*streams);
    if (result == CUDA_ERROR_INVALID_CONTEXT || is_stale(result)) {
        pushes = kPushes;  // most likely a thread without a live context of its own
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return result;
}

/// Runs `enqueue(streams)`, with the side's context current where it must be; when the kept
/// streams turn out to be stale (a device reset), once more with new ones. What `enqueue` starts,
/// it may be asked to start again.
template <class Enqueue>
Status run(const Pointer& side, const void* pointer, const char* call, Needs needs,
           Enqueue&& enqueue, WhenLost when_lost = WhenLost::kRenew) noexcept {
    if (side.driver == nullptr || side.context == nullptr) {
        return Status::kDriver;
    }
    std::lock_guard lock(mutex);
    CUresult result = run_in_callers_context(side, needs, enqueue);
    if (result == CUDA_SUCCESS) {
        return Status::kOk;
    }
    if (result == CUDA_ERROR_INVALID_CONTEXT) {
        const cuda::ContextScope scope(*side.driver, side.context);
        result = scope.result();
        for (int attempt = 0; attempt < 2 && result == CUDA_SUCCESS; ++attempt) {
            ContextStreams* streams = streams_of(side);
            result = enqueue(*streams);
            if (result == CUDA_SUCCESS) {
                return Status::kOk;
            }
            if (!is_stale(result) || attempt == 1) {
                break;
            }
            streams->dead = true;
            ++lost;
            if (when_lost == WhenLost::kFail) {
                return Status::kNotFound;
            }
            result = CUDA_SUCCESS;
        }
    }
    cuda::report_failure(*side.driver, call, result, pointer, "the operation ends with an error");
    return Status::kDriver;
}

CUresult make(const cuda::Driver& driver, cuda::Stream& stream) noexcept {
    if (!stream) {
        const cuda::CaptureScope captures(driver);
        auto made = cuda::Stream::create(driver);
        if (!made) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        stream = std::move(*made);
    }
    return CUDA_SUCCESS;
}

constexpr std::size_t kPackedRoom = std::size_t{1} << 20;

/// Moves a packed range between the device and host memory that kernels do not reach: by a launch
/// and a copy for each piece, through memory on the device. CUDA_ERROR_OUT_OF_MEMORY: there is
/// none.
CUresult through_device(ContextStreams& streams, const Packed& range) noexcept {
    const cuda::Driver& driver = *streams.driver;
    const CUstream stream = streams.immediate.get();
    if (streams.packed == 0) {
        const cuda::CaptureScope captures(driver);
        if (driver.cuMemAlloc(&streams.packed, kPackedRoom) != CUDA_SUCCESS) {
            streams.packed = 0;
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    const bool gathers = range.direction == Direction::kGather;
    CUresult result = CUDA_SUCCESS;
    for (std::size_t done = 0; done < range.bytes && result == CUDA_SUCCESS; done += kPackedRoom) {
        Packed piece{range.layout,
                     range.count,
                     range.buffer,
                     range.skip + done,
                     reinterpret_cast<const void*>(streams.packed),
                     std::min(kPackedRoom, range.bytes - done),
                     range.direction,
                     Packing::kPinned};
        const CUdeviceptr host = address(static_cast<const std::byte*>(range.host) + done);
        if (!gathers) {
            result = driver.cuMemcpyAsync(streams.packed, host, piece.bytes, stream);
        }
        if (result == CUDA_SUCCESS) {
            result = enqueue_packed(driver, streams.kernels, stream, piece);
        }
        if (gathers && result == CUDA_SUCCESS) {
            result = driver.cuMemcpyAsync(host, streams.packed, piece.bytes, stream);
        }
    }
    return result;
}

/// As enqueue_packed(), wherever the host memory is.
CUresult enqueue_anywhere(ContextStreams& streams, const Packed& range) noexcept {
    Packed asked = range;
    if (range.packing == Packing::kAsk && many_runs(range)) {
        if (always_host(range.host) || classify(range.host).kind == Kind::kHost) {
            const CUresult result = through_device(streams, range);
            if (result != CUDA_ERROR_OUT_OF_MEMORY) {
                return result;
            }
        } else {
            asked.packing = Packing::kPinned;
        }
    }
    return enqueue_packed(*streams.driver, streams.kernels, streams.immediate.get(), asked);
}

Status move_packed(const Pointer& side, const Packed& range) noexcept {
    return run(
        side, range.buffer, "a move of non-contiguous data", {}, [&](ContextStreams& streams) {
            CUresult result = make(*streams.driver, streams.immediate);
            if (result != CUDA_SUCCESS) {
                return result;
            }
            result = enqueue_anywhere(streams, range);
            const CUresult waited = streams.driver->cuStreamSynchronize(streams.immediate.get());
            return result != CUDA_SUCCESS ? result : waited;
        });
}

}  // namespace

unsigned contexts_lost() noexcept {
    return lost.load(std::memory_order_relaxed);
}

bool is_direct(const Pointer& where, const void* at, std::size_t bytes) noexcept {
    return !where.on_device() || (where.host_access && where.holds(at, bytes) &&
                                  bytes <= config::params().pml_direct_copy_limit);
}

Status copy(void* destination, const Pointer& to, const void* source, const Pointer& from,
            std::size_t bytes) noexcept {
    if (bytes == 0) {
        return Status::kOk;
    }
    if (is_direct(to, destination, bytes) && is_direct(from, source, bytes)) {
        std::memcpy(destination, source, bytes);
        return Status::kOk;
    }
    return run(
        device_side(to, from), to.on_device() ? destination : source, "cuMemcpyAsync",
        {&ContextStreams::immediate, false}, [&](ContextStreams& streams) {
            CUresult result = make(*streams.driver, streams.immediate);
            if (result != CUDA_SUCCESS) {
                return result;
            }
            const CUstream stream = streams.immediate.get();
            result =
                streams.driver->cuMemcpyAsync(address(destination), address(source), bytes, stream);
            return result != CUDA_SUCCESS ? result : streams.driver->cuStreamSynchronize(stream);
        });
}

Status copy(void* destination, const void* source, std::size_t bytes) noexcept {
    return copy(destination, classify(destination), source, classify(source), bytes);
}

Status pack(const datatype::Layout& layout, std::size_t count, const void* buffer,
            const Pointer& from, std::size_t skip, void* out, std::size_t bytes) noexcept {
    if (!from.on_device()) {
        datatype::pack(layout, count, buffer, skip, {static_cast<std::byte*>(out), bytes});
        return Status::kOk;
    }
    return move_packed(from, {layout, count, buffer, skip, out, bytes, Direction::kGather});
}

Status unpack(const datatype::Layout& layout, std::size_t count, void* buffer, const Pointer& to,
              std::size_t skip, const void* in, std::size_t bytes) noexcept {
    if (!to.on_device()) {
        datatype::unpack(layout, count, buffer, skip, {static_cast<const std::byte*>(in), bytes});
        return Status::kOk;
    }
    return move_packed(to, {layout, count, buffer, skip, in, bytes, Direction::kScatter});
}

/// Starts `work(streams, stream)` on the stream of its direction, with an event behind it.
template <class Work>
Result<AsyncCopy> AsyncCopy::enqueue(const Pointer& side, const void* pointer, Way way,
                                     WhenLost when_lost, Work&& work) noexcept {
    AsyncCopy copy;
    cuda::Stream ContextStreams::*which =
        way.inward ? &ContextStreams::inward : &ContextStreams::outward;
    const Status status = run(
        side, pointer, "a copy in the background", way.kernels ? Needs{} : Needs{which, true},
        [&](ContextStreams& streams) {
            cuda::Stream& stream = streams.*which;
            CUresult result = make(*streams.driver, stream);
            Slot* slot = result == CUDA_SUCCESS ? take_slot(streams) : nullptr;
            if (slot == nullptr) {
                return CUDA_ERROR_OUT_OF_MEMORY;
            }
            result = work(streams, stream.get());
            if (result == CUDA_SUCCESS) {
                result = streams.driver->cuEventRecord(slot->event.get(), stream.get());
            }
            if (result != CUDA_SUCCESS) {
                slot->next = streams.free_slots;
                streams.free_slots = slot;
                return result;
            }
            slot->pointer = pointer;
            copy.slot_ = slot;
            copy.queue_ = &stream;
            copy.done_ = false;
            return CUDA_SUCCESS;
        },
        when_lost);
    if (status != Status::kOk) {
        return status;
    }
    return copy;
}

Result<AsyncCopy> AsyncCopy::start(void* destination, const Pointer& to, const void* source,
                                   const Pointer& from, std::size_t bytes,
                                   WhenLost when_lost) noexcept {
    if (bytes == 0) {
        return AsyncCopy{};
    }
    if (!to.on_device() && !from.on_device()) {
        std::memcpy(destination, source, bytes);
        return AsyncCopy{};
    }
    return enqueue(device_side(to, from), to.on_device() ? destination : source,
                   {to.on_device(), false}, when_lost,
                   [&](ContextStreams& streams, CUstream stream) {
                       return streams.driver->cuMemcpyAsync(address(destination), address(source),
                                                            bytes, stream);
                   });
}

Result<AsyncCopy> AsyncCopy::pack(const datatype::Layout& layout, std::size_t count,
                                  const void* buffer, const Pointer& from, std::size_t skip,
                                  void* out, std::size_t bytes, Packing packing,
                                  WhenLost when_lost) noexcept {
    if (!from.on_device()) {
        datatype::pack(layout, count, buffer, skip, {static_cast<std::byte*>(out), bytes});
        return AsyncCopy{};
    }
    return enqueue(from, buffer, {false, true}, when_lost,
                   [&](ContextStreams& streams, CUstream stream) {
                       return enqueue_packed(
                           *streams.driver, streams.kernels, stream,
                           {layout, count, buffer, skip, out, bytes, Direction::kGather, packing});
                   });
}

Result<AsyncCopy> AsyncCopy::unpack(const datatype::Layout& layout, std::size_t count, void* buffer,
                                    const Pointer& to, std::size_t skip, const void* in,
                                    std::size_t bytes, Packing packing,
                                    WhenLost when_lost) noexcept {
    if (!to.on_device()) {
        datatype::unpack(layout, count, buffer, skip, {static_cast<const std::byte*>(in), bytes});
        return AsyncCopy{};
    }
    return enqueue(to, buffer, {true, true}, when_lost,
                   [&](ContextStreams& streams, CUstream stream) {
                       return enqueue_packed(
                           *streams.driver, streams.kernels, stream,
                           {layout, count, buffer, skip, in, bytes, Direction::kScatter, packing});
                   });
}

AsyncCopy::AsyncCopy(AsyncCopy&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)),
      queue_(other.queue_),
      done_(std::exchange(other.done_, true)),
      outcome_(other.outcome_) {}

AsyncCopy& AsyncCopy::operator=(AsyncCopy&& other) noexcept {
    std::swap(slot_, other.slot_);
    std::swap(queue_, other.queue_);
    std::swap(done_, other.done_);
    std::swap(outcome_, other.outcome_);
    return *this;
}

AsyncCopy::~AsyncCopy() {
    if (slot_ != nullptr) {
        {
            const cuda::ContextScope scope(*slot_->home->driver, slot_->home->context);
            const cuda::CaptureScope captures(*slot_->home->driver);
            slot_->home->driver->cuEventSynchronize(slot_->event.get());
        }
        std::lock_guard lock(mutex);
        slot_->next = slot_->home->free_slots;
        slot_->home->free_slots = slot_;
    }
}

Status AsyncCopy::poll() noexcept {
    if (done_) {
        return outcome_;
    }
    const cuda::CaptureScope captures(*slot_->home->driver);
    CUresult result = slot_->home->driver->cuEventQuery(slot_->event.get());
    if (result == CUDA_ERROR_INVALID_CONTEXT) {
        // A thread without a context asks in the event's. Most have one that does: pushing it at
        // every poll would triple the calls.
        const cuda::ContextScope scope(*slot_->home->driver, slot_->home->context);
        if (scope.result() == CUDA_SUCCESS) {
            result = slot_->home->driver->cuEventQuery(slot_->event.get());
        }
    }
    if (result == CUDA_ERROR_NOT_READY) {
        return Status::kRetry;
    }
    done_ = true;
    if (result != CUDA_SUCCESS) {
        outcome_ = Status::kDriver;
        cuda::report_failure(*slot_->home->driver, "cuMemcpyAsync (in flight)", result,
                             slot_->pointer, "the operation ends with an error");
    }
    std::lock_guard lock(mutex);
    slot_->next = slot_->home->free_slots;
    slot_->home->free_slots = slot_;
    slot_ = nullptr;
    return outcome_;
}

bool register_host(const cuda::Driver& driver, CUctx_st* context, void* memory,
                   std::size_t bytes) noexcept {
    const cuda::ContextScope scope(driver, context);
    const cuda::CaptureScope captures(driver);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = driver.cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(driver, "cuMemHostRegister", result, memory,
                             "staging memory stays pageable and copies through it are slower");
        return false;
    }
    return true;
}

void unregister_host(const cuda::Driver& driver, CUctx_st* context, void* memory) noexcept {
    const cuda::ContextScope scope(driver, context);
    const cuda::CaptureScope captures(driver);
    if (scope.result() == CUDA_SUCCESS) {
        driver.cuMemHostUnregister(memory);
    }
}

void release_copy_resources() noexcept {
    std::lock_guard lock(mutex);
    for (auto& streams : table()) {
        const cuda::ContextScope scope(*streams->driver, streams->context);
        while (Slot* slot = streams->free_slots) {
            streams->free_slots = slot->next;
            delete slot;
        }
        streams->kernels.release(*streams->driver);
        if (streams->packed != 0 && scope.result() == CUDA_SUCCESS) {
            streams->driver->cuMemFree(streams->packed);
        }
        streams->immediate = {};
        streams->inward = {};
        streams->outward = {};
    }
    table().clear();
    if (const cuda::Driver* driver = cuda::Driver::find(); driver != nullptr) {
        cuda::release_primary_contexts(*driver);
    }
}

}  // namespace beeline::memory
