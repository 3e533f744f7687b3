// SPDX-License-Identifier: BSD-3-Clause
// The GPU engine.
#include "coll/exec/device_engine.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "coll/kernel/reduce_host.hpp"
#include "cuda/context.hpp"
#include "memory/copy.hpp"

namespace beeline::coll::exec {
namespace {

constexpr unsigned kThreads = 512;
/// Each thread of a full grid moves several 16-byte packs; more blocks than fill every
/// multiprocessor of the largest GPUs (four of 512 threads) gain nothing.
constexpr std::size_t kBytesPerBlock = std::size_t{kThreads} * 16 * 4;
constexpr std::size_t kMostBlocks = 528;

/// How much reduce_on_host() takes in at a time.
constexpr std::size_t kBounceBytes = std::size_t{4} << 20;

CUdeviceptr device_address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// The context died since (a device reset); its handle may be in use again for another one.
bool is_stale(CUresult result) noexcept {
    return cuda::is_gone(result) || result == CUDA_ERROR_INVALID_HANDLE;
}

/// The parameters of every kernel, as kernel_name() describes them.
CUresult launch(const cuda::Driver& driver, CUfunction function, CUstream stream,
                std::span<const void* const> inputs, void* out, std::size_t count,
                std::size_t element) noexcept {
    const void* addresses[kernel::kMostInputs] = {};
    std::copy(inputs.begin(), inputs.end(), addresses);
    auto n = static_cast<unsigned>(inputs.size());
    const std::size_t blocks = std::clamp((count * element + kBytesPerBlock - 1) / kBytesPerBlock,
                                          std::size_t{1}, kMostBlocks);
    void* params[] = {addresses, &n, &out, &count};
    return driver.cuLaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
                                 stream, params, nullptr);
}

}  // namespace

DeviceEngine::~DeviceEngine() {
    for (const auto& room : rooms_) {
        const cuda::Driver& driver = room->home->driver();
        const cuda::ContextScope scope(driver, room->home->context());
        const cuda::CaptureScope captures(driver);
        if (scope.result() == CUDA_SUCCESS) {
            if (room->lease.stream) {
                driver.cuStreamSynchronize(room->lease.stream.get());
            }
            free_scratch(*room);
            release_stream(*room);
        } else {
            room->lease.stream.forget();
        }
    }
}

void DeviceEngine::bind(const memory::Pointer& place) noexcept {
    place_ = place;
    scratch_on_host_ = false;
}

/// What is kept for the bound context, made at first use; null when memory is refused.
DeviceEngine::Room* DeviceEngine::room() noexcept {
    for (const auto& room : rooms_) {
        if (room->home->context() == place_.context) {
            return room.get();
        }
    }
    DeviceHome* home = DeviceHome::of(*place_.driver, place_.context);
    if (home == nullptr) {
        return nullptr;
    }
    try {
        auto room = std::make_unique<Room>();
        room->home = home;
        rooms_.push_back(std::move(room));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    return rooms_.back().get();
}

bool DeviceEngine::hold_stream(Room& room) noexcept {
    if (!room.lease.stream) {
        room.lease = room.home->lease();
    }
    return static_cast<bool>(room.lease.stream);
}

/// Nothing must be under way on it.
void DeviceEngine::release_stream(Room& room) noexcept {
    if (room.lease.stream) {
        room.home->give_back(std::move(room.lease));
        room.lease = {};
    }
}

/// Forgets what belonged to a context that is gone: nothing of it can be freed any more.
void DeviceEngine::renew(Room& room, std::uint64_t generation) noexcept {
    room.home->renew(generation);
    room.lease.stream.forget();
    room.lease = {};
    if (!scratch_is_ours(room)) {
        room.scratch = 0;
        room.capacity = 0;
    }
}

bool DeviceEngine::scratch_is_ours(const Room& room) noexcept {
    std::uint64_t id = 0;
    return room.scratch != 0 &&
           room.home->driver().cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                     room.scratch) == CUDA_SUCCESS &&
           id == room.scratch_place.buffer_id;
}

/// Nothing must be under way in it.
void DeviceEngine::free_scratch(Room& room) noexcept {
    if (scratch_is_ours(room)) {
        room.home->driver().cuMemFree(room.scratch);
    }
    room.scratch = 0;
    room.capacity = 0;
}

bool DeviceEngine::grow_scratch(Room& room, std::size_t bytes) noexcept {
    const cuda::Driver& driver = room.home->driver();
    const cuda::CaptureScope captures(driver);
    free_scratch(room);
    const std::size_t capacity = scratch_capacity(bytes);
    const CUresult result = driver.cuMemAlloc(&room.scratch, capacity);
    if (result != CUDA_SUCCESS) {
        room.scratch = 0;
        cuda::report_failure(driver, "cuMemAlloc", result, nullptr,
                             "reductions that need scratch memory run on the host");
        return false;
    }
    room.capacity = capacity;
    room.scratch_generation = room.home->generation();
    room.scratch_place = memory::classify(reinterpret_cast<const void*>(room.scratch));
    return true;
}

memory::Pointer DeviceEngine::place_of_scratch() const noexcept {
    for (const auto& room : rooms_) {
        if (room->home->context() == place_.context && room->scratch != 0 && !scratch_on_host_) {
            return room->scratch_place;
        }
    }
    return {};
}

Result<void*> DeviceEngine::scratch(std::size_t bytes) noexcept {
    const cuda::ContextScope scope(*place_.driver, place_.context);
    Room* kept = scope.result() == CUDA_SUCCESS ? room() : nullptr;
    if (kept != nullptr && kept->scratch != 0 && !scratch_is_ours(*kept)) {
        renew(*kept, kept->scratch_generation);
    }
    scratch_on_host_ = kept == nullptr || (kept->capacity < bytes && !grow_scratch(*kept, bytes));
    if (scratch_on_host_) {
        return host_.scratch(bytes);
    }
    return reinterpret_cast<void*>(kept->scratch);
}

/// Runs call_driver(room) under the bound context with a stream; once more with new handles when
/// the old ones are of a dead context.
template <class Enqueue>
Status DeviceEngine::enqueue(const char* call, const void* pointer,
                             Enqueue&& call_driver) noexcept {
    const cuda::ContextScope scope(*place_.driver, place_.context);
    CUresult result = scope.result();
    for (int attempt = 0; attempt < 2 && result == CUDA_SUCCESS; ++attempt) {
        Room* kept = room();
        if (kept == nullptr || !hold_stream(*kept)) {
            return Status::kDriver;
        }
        result = call_driver(*kept);
        if (result == CUDA_SUCCESS) {
            return Status::kOk;
        }
        if (attempt == 0 && is_stale(result)) {
            renew(*kept, kept->lease.generation);
            result = CUDA_SUCCESS;
        }
    }
    cuda::report_failure(*place_.driver, call, result, pointer,
                         "the collective ends with an error");
    return Status::kDriver;
}

Status DeviceEngine::copy(void* target, const void* source, std::size_t bytes) noexcept {
    return enqueue("cuMemcpyAsync", target, [&](Room& room) {
        return room.home->driver().cuMemcpyAsync(device_address(target), device_address(source),
                                                 bytes, room.lease.stream.get());
    });
}

Status DeviceEngine::reduce(kernel::Type type, kernel::Op op, const void* left, const void* right,
                            void* out, std::size_t count) noexcept {
    const void* const inputs[] = {left, right};
    return reduce_many(type, op, inputs, out, count);
}

Status DeviceEngine::reduce_many(kernel::Type type, kernel::Op op,
                                 std::span<const void* const> inputs, void* out,
                                 std::size_t count) noexcept {
    assert(!inputs.empty() && inputs.size() <= kernel::kMostInputs);
    if (kernel::is_copy(op)) {
        const void* source = op == kernel::Op::kReplace ? inputs.front() : inputs.back();
        return source == out ? Status::kOk : copy(out, source, count * kernel::size_of(type));
    }
    if (scratch_on_host_ || kernel::is_host_only(type)) {
        return reduce_on_host(type, op, inputs, out, count);
    }
    bool have_kernel = true;
    const Status status = enqueue("cuLaunchKernel", out, [&](Room& room) {
        const CUfunction function = room.home->function(type, op);
        if (function == nullptr) {
            have_kernel = false;
            return CUDA_SUCCESS;
        }
        return launch(room.home->driver(), function, room.lease.stream.get(), inputs, out, count,
                      kernel::size_of(type));
    });
    return have_kernel ? status : reduce_on_host(type, op, inputs, out, count);
}

Status DeviceEngine::flush() noexcept {
    return enqueue("cuStreamSynchronize", nullptr, [](Room& room) {
        const CUresult result = room.home->driver().cuStreamSynchronize(room.lease.stream.get());
        if (result == CUDA_SUCCESS) {
            release_stream(room);
        }
        return result;
    });
}

Status DeviceEngine::poll() noexcept {
    bool busy = false;
    const Status status = enqueue("cuStreamQuery", nullptr, [&busy](Room& room) {
        const CUresult result = room.home->driver().cuStreamQuery(room.lease.stream.get());
        busy = result == CUDA_ERROR_NOT_READY;
        if (result == CUDA_SUCCESS) {
            release_stream(room);
        }
        return busy ? CUDA_SUCCESS : result;
    });
    return busy ? Status::kRetry : status;
}

/// Piece by piece, so that the memory for it stays small. Pieces are copied in, reduced and copied
/// out one after another: `out` may be an input.
Status DeviceEngine::reduce_on_host(kernel::Type type, kernel::Op op,
                                    std::span<const void* const> inputs, void* out,
                                    std::size_t count) noexcept {
    const Status flushed = flush();
    if (flushed != Status::kOk) {
        return flushed;
    }
    const std::size_t element = kernel::size_of(type);
    const std::size_t piece = std::min(count, kBounceBytes / (inputs.size() * element));
    const auto room = bounce_.scratch(inputs.size() * piece * element);
    if (!room) {
        return room.status();
    }
    auto* first = static_cast<std::byte*>(room.value());
    for (std::size_t done = 0; done < count; done += piece) {
        const std::size_t bytes = std::min(piece, count - done) * element;
        const void* operands[kernel::kMostInputs] = {};
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            std::byte* operand = first + k * piece * element;
            operands[k] = operand;
            const Status copied = memory::copy(
                operand, static_cast<const std::byte*>(inputs[k]) + done * element, bytes);
            if (copied != Status::kOk) {
                return copied;
            }
        }
        kernel::reduce_host_many(type, op, std::span(operands, inputs.size()), first,
                                 bytes / element);
        const Status copied =
            memory::copy(static_cast<std::byte*>(out) + done * element, first, bytes);
        if (copied != Status::kOk) {
            return copied;
        }
    }
    return Status::kOk;
}

}  // namespace beeline::coll::exec
