// SPDX-License-Identifier: BSD-3-Clause
// Agreement, launch and completion of fused collectives.
#include "coll/exec/fused.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "coll/exec/fused_kernels.hpp"
#include "cuda/context.hpp"
#include "memory/copy.hpp"

namespace beeline::coll::exec {
namespace {

using kernel::FusedCall;

constexpr unsigned kThreads = 512;
/// Blocks may wait for blocks of the same number on other devices, so there must be few enough to
/// run at the same time on any device.
constexpr std::size_t kMostBlocks = 8;
constexpr std::size_t kBytesPerBlock = 16384;
constexpr std::uint64_t kMostRest = 1024;
/// The call's number has 31 bits.
constexpr std::uint32_t kLastNumber = 0x7fffffffU;
constexpr std::uint64_t kForEver = std::uint64_t{1} << 62;
constexpr std::chrono::seconds kGrace{10};  ///< for a kernel to see that it is to end

std::size_t unit_of(kernel::Type type) noexcept {
    return std::max<std::size_t>(kernel::size_of(type), 8);
}

}  // namespace

Fused::~Fused() {
    let_go(state_ != State::kBroken);
}

void Fused::let_go(bool clean) noexcept {
    if (workspace_ != nullptr) {
        give_back_fused_workspace(workspace_, clean);
        workspace_ = nullptr;
    }
}

Fused::Answer Fused::consider(const FusedTerms& terms, int size, kernel::Family family) noexcept {
    if (state_ == State::kNever || size < 2 || size > static_cast<int>(kernel::kFusedRanks)) {
        return Answer::kNo;
    }
    terms_ = terms;
    size_ = size;
    if (state_ == State::kReady && number_ == kLastNumber) {
        // Flags would repeat: start again with empty workspaces.
        let_go(true);
        state_ = State::kUnknown;
        next_try_ = asked_ + 1;
    }
    ++asked_;
    if (state_ == State::kUnknown) {
        if (asked_ < next_try_) {
            return Answer::kNo;
        }
        next_try_ = 2 * asked_;
        return Answer::kAgree;
    }
    if (rest_ > 0 && !terms.forced) {
        --rest_;
        return Answer::kNo;
    }
    if (loaded(family) == Loaded::kUnknown) {
        return Answer::kAgree;
    }
    return loaded(family) == Loaded::kNo ? Answer::kNo : Answer::kYes;
}

std::size_t Fused::half_of(std::size_t workspace) noexcept {
    // Two halves and a quarter of one for staging, each a multiple of the longest unit in a slot.
    const std::size_t eighth = (workspace - kernel::kFusedHeader) / 9;
    return eighth / 128 * 128 * 4;
}

std::size_t Fused::most_one_shot() const noexcept {
    return half() / static_cast<std::size_t>(2 * size_) / 16 * 16;
}

std::size_t Fused::most_two_shot() const noexcept {
    const auto ranks = static_cast<std::size_t>(size_);
    return half() / (4 * ranks) / 16 * 16 * ranks;
}

std::size_t Fused::most(const FusedTerms& terms) noexcept {
    return half_of(terms.workspace) / 4;
}

void* Fused::staging() const noexcept {
    return static_cast<std::byte*>(mapped_[static_cast<std::size_t>(rank_)]) +
           kernel::kFusedHeader + 2 * half();
}

bool Fused::reaches(const memory::Pointer& place) const noexcept {
    return place.on_device() && place.context == workspace_->context;
}

Status Fused::start(const Call& call) noexcept {
    if (state_ != State::kReady) {
        log(LogLevel::kError, "an allreduce fails because an earlier one of its communicator did");
        return Status::kIo;
    }
    ++number_;
    ++calls_;
    const std::size_t bytes = call.count * kernel::size_of(call.type);
    const memory::Pointer from = memory::classify(call.input);
    const memory::Pointer to = call.output == call.input ? from : memory::classify(call.output);
    const void* input = call.input;
    if (!reaches(from)) {
        const Status copied = memory::copy(staging(), workspace_->place, call.input, from, bytes);
        if (copied != Status::kOk) {
            return broken(copied);
        }
        input = staging();
    }
    result_ = reaches(to) ? nullptr : call.output;
    result_place_ = to;
    result_bytes_ = bytes;
    const Status launched = launch(call, input, result_ != nullptr ? staging() : call.output,
                                   from.on_device() || to.on_device());
    return launched == Status::kOk ? launched : broken(launched);
}

Status Fused::launch(const Call& call, const void* input, void* output, bool device) noexcept {
    const auto ranks = static_cast<std::size_t>(size_);
    const std::size_t unit = unit_of(call.type);
    const std::size_t bytes = call.count * kernel::size_of(call.type);
    const std::size_t units = (bytes + unit - 1) / unit;
    // Every pair of ranks has to exchange something, or halves could be used again too early.
    two_shot_ = call.two_shot && units >= ranks;
    FusedCall arguments{};
    arguments.input = input;
    arguments.output = output;
    arguments.count = call.count;
    std::copy(mapped_.begin(), mapped_.end(), arguments.workspace);
    arguments.half = kernel::kFusedHeader + (number_ & 1U) * half();
    arguments.slot = (two_shot_ ? (units + ranks - 1) / ranks : units) * 2 * unit;
    if (arguments.slot * ranks * (two_shot_ ? 2 : 1) > half()) {
        return Status::kInvalid;
    }
    const CUdeviceptr mailbox = workspace_->mailbox_on_device;
    arguments.report = reinterpret_cast<void*>(mailbox + offsetof(FusedMailbox, report));
    arguments.abort = reinterpret_cast<void*>(mailbox + offsetof(FusedMailbox, abort));
    arguments.limit = terms_.timeout == 0
                          ? kForEver
                          : (static_cast<std::uint64_t>(terms_.timeout) + 5) * 1000000000U;
    arguments.rank = static_cast<std::uint32_t>(rank_);
    arguments.size = static_cast<std::uint32_t>(size_);
    arguments.flag = number_ << 1 | (device ? 1U : 0U);
    arguments.two_shot = two_shot_ ? 1 : 0;

    const cuda::Driver& driver = *workspace_->driver;
    const cuda::ContextScope scope(driver, workspace_->context);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        const CUfunction function = fused_kernel(driver, workspace_->context, call.type, call.op);
        if (function == nullptr) {
            return Status::kDriver;
        }
        const std::size_t share = bytes / (two_shot_ ? ranks : 1);
        const std::size_t blocks =
            std::clamp((share + kBytesPerBlock - 1) / kBytesPerBlock, std::size_t{1}, kMostBlocks);
        void* parameters[] = {&arguments};
        result = driver.cuLaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1,
                                       1, 0, workspace_->stream.get(), parameters, nullptr);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(driver, "cuLaunchKernel", result, output,
                             "the collective ends with an error");
        return Status::kDriver;
    }
    polls_ = 0;
    aborted_ = false;
    return Status::kOk;
}

/// Tells the peers not to wait for us, if the driver still lets us.
Status Fused::broken(Status status) noexcept {
    state_ = State::kBroken;
    const cuda::Driver& driver = *workspace_->driver;
    const cuda::ContextScope scope(driver, workspace_->context);
    for (int peer = 0; peer < size_ && scope.result() == CUDA_SUCCESS; ++peer) {
        if (peer != rank_) {
            const auto base =
                reinterpret_cast<CUdeviceptr>(mapped_[static_cast<std::size_t>(peer)]);
            driver.cuMemsetD8Async(
                base + kernel::kFusedStopped + 4 * static_cast<std::size_t>(rank_), 1, 1,
                workspace_->stream.get());
        }
    }
    return status;
}

Status Fused::poll() noexcept {
    const std::uint64_t report = workspace_->mailbox->report.load(std::memory_order_acquire);
    if (report >> 33 == number_) {
        return complete(report);
    }
    // The clock is asked seldom, and the driver only when something is wrong.
    constexpr unsigned kPollsPerLook = 256;
    return ++polls_ % kPollsPerLook == 0 ? look_closer() : Status::kRetry;
}

Status Fused::look_closer() noexcept {
    const Clock::time_point now = Clock::now();
    if (polls_ == 256) {
        started_ = now;
        next_look_ = now + std::chrono::seconds(1);
        return Status::kRetry;
    }
    if (now < next_look_) {
        return Status::kRetry;
    }
    next_look_ = now + std::chrono::seconds(1);
    const cuda::Driver& driver = *workspace_->driver;
    if (driver.cuStreamQuery != nullptr) {
        const cuda::ContextScope scope(driver, workspace_->context);
        const cuda::CaptureScope captures(driver);
        const CUresult result = scope.result() == CUDA_SUCCESS
                                    ? driver.cuStreamQuery(workspace_->stream.get())
                                    : scope.result();
        const std::uint64_t report = workspace_->mailbox->report.load(std::memory_order_acquire);
        if (result != CUDA_ERROR_NOT_READY && report >> 33 != number_) {
            cuda::report_failure(driver, "a fused allreduce", result, result_,
                                 "the collective ends with an error");
            return broken(Status::kDriver);
        }
    }
    const auto limit = std::chrono::seconds(terms_.timeout);
    if (terms_.timeout != 0 && now - started_ >= limit) {
        workspace_->mailbox->abort.store(1, std::memory_order_release);
        aborted_ = true;
        if (now - started_ >= limit + kGrace) {
            log(LogLevel::kError, "the kernel of an allreduce does not end: the GPU is stuck");
            return broken(Status::kDriver);
        }
    }
    return Status::kRetry;
}

void Fused::explain(std::uint32_t cause) const noexcept {
    const auto reason = static_cast<kernel::FusedReason>(cause >> 16);
    const unsigned step = cause >> 8 & 0xffU;
    const unsigned peer = cause & 0xffU;
    const char* algorithm = two_shot_ ? "fused_two_shot" : "fused_one_shot";
    const char* what = step == 1 ? "inputs" : "results";
    if (reason == kernel::FusedReason::kPeerStopped) {
        log(LogLevel::kError,
            "allreduce %s (rank %d of %d): rank %u gave up in or before step %u, the exchange of "
            "%s",
            algorithm, rank_, size_, peer, step, what);
        return;
    }
    log(LogLevel::kError,
        "allreduce %s (rank %d of %d): nothing came from rank %u for %d s in step %u, the exchange "
        "of %s; see coll_beeline_fused_timeout",
        algorithm, rank_, size_, peer, terms_.timeout, step, what);
}

Status Fused::complete(std::uint64_t report) noexcept {
    if (const auto cause = static_cast<std::uint32_t>(report); cause != 0) {
        explain(cause);
        state_ = State::kBroken;  // the kernel told the peers
        return Status::kIo;
    }
    if ((report >> 32 & 1U) != 0) {
        next_rest_ = 1;
    } else {
        rest_ = next_rest_;
        next_rest_ = std::min(2 * next_rest_, kMostRest);
    }
    return result_ == nullptr
               ? Status::kOk
               : memory::copy(result_, result_place_, staging(), workspace_->place, result_bytes_);
}

void release_fused_imports() noexcept {
    unmap_fused_workspaces();
}

void release_fused() noexcept {
    unmap_fused_workspaces();
    free_fused_workspaces();
    release_fused_kernels();
}

}  // namespace beeline::coll::exec
