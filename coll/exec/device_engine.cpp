// SPDX-License-Identifier: BSD-3-Clause
// The GPU engine.
#include "coll/exec/device_engine.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "coll/kernel/image.hpp"
#include "coll/kernel/reduce_host.hpp"
#include "cuda/context.hpp"
#include "memory/copy.hpp"

namespace beeline::coll::exec {
namespace {

constexpr unsigned kThreads = 512;
/// Each thread of a full grid moves several 16-byte packs; more blocks than two for each
/// multiprocessor of the largest GPUs gain nothing.
constexpr std::size_t kBytesPerBlock = std::size_t{kThreads} * 16 * 4;
constexpr std::size_t kMostBlocks = 264;

CUdeviceptr device_address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// The context died since (a device reset); its handle may be in use again for another one.
bool is_stale(CUresult result) noexcept {
    return cuda::is_gone(result) || result == CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

DeviceEngine::~DeviceEngine() {
    for (const auto& home : homes_) {
        const cuda::ContextScope scope(*home->driver, home->context);
        const cuda::CaptureScope captures(*home->driver);
        if (scope.result() == CUDA_SUCCESS) {
            free_scratch(*home);
            home->stream = {};
            home->module = {};
        }
    }
}

void DeviceEngine::bind(const memory::Pointer& place) noexcept {
    place_ = place;
    scratch_on_host_ = false;
}

/// What is kept for the bound context, made at first use; null when it cannot be made. The context
/// must be current.
DeviceEngine::Home* DeviceEngine::home() noexcept {
    for (const auto& home : homes_) {
        if (home->context == place_.context) {
            return home->stream || open(*home) ? home.get() : nullptr;
        }
    }
    try {
        auto home = std::make_unique<Home>();
        home->driver = place_.driver;
        home->context = place_.context;
        homes_.push_back(std::move(home));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    return open(*homes_.back()) ? homes_.back().get() : nullptr;
}

bool DeviceEngine::open(Home& home) noexcept {
    const cuda::CaptureScope captures(*home.driver);
    auto stream = cuda::Stream::create(*home.driver);
    if (!stream) {
        return false;
    }
    home.stream = std::move(*stream);
    auto module = cuda::Module::load(*home.driver, kernel::reduce_image());
    home.kernels_refused = true;
    if (!module) {
        return true;  // the reason is logged; reductions run on the CPU
    }
    if (!module->function(kernel::source_kernel_name())) {
        log_once(LogLevel::kWarning, "coll.kernels",
                 "the reduction kernels found are not this version's (%s is missing; with the "
                 "software device, check "
                 "SOFTCUDA_KERNELS): reductions run on the host",
                 kernel::source_kernel_name());
        return true;
    }
    home.module = std::move(*module);
    home.kernels_refused = false;
    return true;
}

/// Forgets what belonged to a context that is gone: nothing of it can be freed any more.
void DeviceEngine::renew(Home& home) noexcept {
    const cuda::CaptureScope captures(*home.driver);
    home.stream = {};
    home.module = {};
    home.functions = {};
    home.scratch = 0;
    home.capacity = 0;
}

bool DeviceEngine::scratch_is_ours(const Home& home) noexcept {
    std::uint64_t id = 0;
    return home.scratch != 0 &&
           home.driver->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, home.scratch) ==
               CUDA_SUCCESS &&
           id == home.scratch_id;
}

void DeviceEngine::free_scratch(Home& home) noexcept {
    if (scratch_is_ours(home)) {
        home.driver->cuStreamSynchronize(home.stream.get());
        home.driver->cuMemFree(home.scratch);
    }
    home.scratch = 0;
    home.capacity = 0;
}

bool DeviceEngine::grow_scratch(Home& home, std::size_t bytes) noexcept {
    const cuda::CaptureScope captures(*home.driver);
    free_scratch(home);
    const std::size_t capacity = scratch_capacity(bytes);
    const CUresult result = home.driver->cuMemAlloc(&home.scratch, capacity);
    if (result != CUDA_SUCCESS) {
        home.scratch = 0;
        cuda::report_failure(*home.driver, "cuMemAlloc", result, nullptr,
                             "reductions that need scratch memory run on the host");
        return false;
    }
    home.capacity = capacity;
    home.driver->cuPointerGetAttribute(&home.scratch_id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                       home.scratch);
    return true;
}

Result<void*> DeviceEngine::scratch(std::size_t bytes) noexcept {
    const cuda::ContextScope scope(*place_.driver, place_.context);
    Home* kept = scope.result() == CUDA_SUCCESS ? home() : nullptr;
    if (kept != nullptr && kept->scratch != 0 && !scratch_is_ours(*kept)) {
        renew(*kept);
        kept = home();
    }
    scratch_on_host_ = kept == nullptr || (kept->capacity < bytes && !grow_scratch(*kept, bytes));
    if (scratch_on_host_) {
        return host_.scratch(bytes);
    }
    return reinterpret_cast<void*>(kept->scratch);
}

/// Runs call_driver(home) under the bound context; once more with new handles when the old ones are
/// of a dead context.
template <class Enqueue>
Status DeviceEngine::enqueue(const char* call, const void* pointer,
                             Enqueue&& call_driver) noexcept {
    const cuda::ContextScope scope(*place_.driver, place_.context);
    CUresult result = scope.result();
    for (int attempt = 0; attempt < 2 && result == CUDA_SUCCESS; ++attempt) {
        Home* kept = home();
        if (kept == nullptr) {
            return Status::kDriver;
        }
        result = call_driver(*kept);
        if (result == CUDA_SUCCESS) {
            return Status::kOk;
        }
        if (attempt == 0 && is_stale(result)) {
            renew(*kept);
            result = CUDA_SUCCESS;
        }
    }
    cuda::report_failure(*place_.driver, call, result, pointer,
                         "the collective ends with an error");
    return Status::kDriver;
}

Status DeviceEngine::copy(void* target, const void* source, std::size_t bytes) noexcept {
    return enqueue("cuMemcpyAsync", target, [&](Home& home) {
        return home.driver->cuMemcpyAsync(device_address(target), device_address(source), bytes,
                                          home.stream.get());
    });
}

/// The kernel, or null when it cannot be had.
CUfunction DeviceEngine::function(Home& home, kernel::Type type, kernel::Op op) noexcept {
    if (home.kernels_refused) {
        return nullptr;
    }
    CUfunction& function = home.functions[static_cast<std::size_t>(kernel::kernel_index(type, op))];
    if (function == nullptr) {
        const cuda::CaptureScope captures(*home.driver);
        const auto found = home.module.function(kernel::kernel_name(type, op));
        function = found ? found.value() : nullptr;
    }
    return function;
}

Status DeviceEngine::reduce(kernel::Type type, kernel::Op op, const void* left, const void* right,
                            void* out, std::size_t count) noexcept {
    if (scratch_on_host_) {
        return reduce_on_host(type, op, left, right, out, count);
    }
    bool have_kernel = true;
    const Status status = enqueue("cuLaunchKernel", out, [&](Home& home) {
        const CUfunction kernel = function(home, type, op);
        if (kernel == nullptr) {
            have_kernel = false;
            return CUDA_SUCCESS;
        }
        const std::size_t bytes = count * kernel::size_of(type);
        const std::size_t blocks =
            std::clamp((bytes + kBytesPerBlock - 1) / kBytesPerBlock, std::size_t{1}, kMostBlocks);
        void* params[] = {&left, &right, &out, &count};
        return home.driver->cuLaunchKernel(kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1,
                                           1, 0, home.stream.get(), params, nullptr);
    });
    return have_kernel ? status : reduce_on_host(type, op, left, right, out, count);
}

Status DeviceEngine::flush() noexcept {
    return enqueue("cuStreamSynchronize", nullptr,
                   [](Home& home) { return home.driver->cuStreamSynchronize(home.stream.get()); });
}

Status DeviceEngine::poll() noexcept {
    bool busy = false;
    const Status status = enqueue("cuStreamQuery", nullptr, [&busy](Home& home) {
        const CUresult result = home.driver->cuStreamQuery(home.stream.get());
        busy = result == CUDA_ERROR_NOT_READY;
        return busy ? CUDA_SUCCESS : result;
    });
    return busy ? Status::kRetry : status;
}

Status DeviceEngine::reduce_on_host(kernel::Type type, kernel::Op op, const void* left,
                                    const void* right, void* out, std::size_t count) noexcept {
    const Status flushed = flush();
    if (flushed != Status::kOk) {
        return flushed;
    }
    const std::size_t bytes = count * kernel::size_of(type);
    const auto room = bounce_.scratch(2 * bytes);
    if (!room) {
        return room.status();
    }
    auto* first = static_cast<std::byte*>(room.value());
    std::byte* second = first + bytes;
    for (const auto& [to, from] : {std::pair{first, left}, std::pair{second, right}}) {
        const Status copied = memory::copy(to, from, bytes);
        if (copied != Status::kOk) {
            return copied;
        }
    }
    kernel::reduce_host(type, op, first, second, first, count);
    return memory::copy(out, first, bytes);
}

}  // namespace beeline::coll::exec
