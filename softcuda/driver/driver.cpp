// SPDX-License-Identifier: BSD-3-Clause
// The edge every entry passes, cuInit, and the life of the driver in a process.
#include "softcuda/driver/driver.hpp"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/context.hpp"
#include "softcuda/driver/device.hpp"
#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

constinit std::atomic<Phase> current_phase{Phase::kNew};
constinit std::mutex init_mutex;

void after_fork_in_child() {
    if (current_phase.load() == Phase::kReady) {
        current_phase = Phase::kForked;
        ledger_reset();
    }
}

/** Later calls, from other libraries' destructors, get CUDA_ERROR_DEINITIALIZED. */
__attribute__((destructor)) void shut_down() {
    if (current_phase.load() == Phase::kReady) {
        current_phase = Phase::kDown;
    }
}

/** One line in the first process of a job: nobody should take these figures for a GPU's. */
void announce() {
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (!config().quiet && (rank == nullptr || std::strcmp(rank, "0") == 0)) {
        std::fprintf(stderr, "SoftCUDA: software CUDA device, %d GPU%s (no real GPU is used)\n",
                     device_count(), device_count() == 1 ? "" : "s");
    }
}

CUresult check_driver() noexcept {
    switch (current_phase.load(std::memory_order_acquire)) {
        case Phase::kReady:
            return in_host_function() ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
        case Phase::kDown:
            return CUDA_ERROR_DEINITIALIZED;
        case Phase::kNew:
        case Phase::kForked:
            break;
    }
    return CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace

Phase phase() noexcept {
    return current_phase.load(std::memory_order_acquire);
}

bool& in_host_function() noexcept {
    thread_local bool inside = false;
    return inside;
}

uint64_t now_ns() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

CUresult enter(Entry entry, Needs needs) noexcept {
    const uint64_t count =
        ledger.calls[static_cast<int>(entry)].fetch_add(1, std::memory_order_relaxed) + 1;
    CUresult result = injected_fault(entry, count);
    if (result == CUDA_SUCCESS && needs != Needs::kNothing) {
        result = check_driver();
    }
    if (result == CUDA_SUCCESS && (needs == Needs::kContext || needs == Needs::kNoCapture)) {
        result = check_context();
    }
    if (result == CUDA_SUCCESS && needs == Needs::kNoCapture) {
        result = check_no_capture();
    }
    if (result != CUDA_SUCCESS && config().log) {
        std::fprintf(stderr, "SoftCUDA: %s answers %d\n", entry_name(entry),
                     static_cast<int>(result));
    }
    return result;
}

CUresult refused(Entry entry, CUresult result) noexcept {
    if (result != CUDA_ERROR_NOT_READY) {
        ledger.errors[static_cast<int>(entry)].fetch_add(1, std::memory_order_relaxed);
    }
    return result;
}

CUresult initialize() noexcept {
    const std::lock_guard lock(init_mutex);
    switch (current_phase.load()) {
        case Phase::kReady:
            return CUDA_SUCCESS;
        case Phase::kForked:
            return CUDA_ERROR_NOT_INITIALIZED;
        case Phase::kDown:
            return CUDA_ERROR_DEINITIALIZED;
        case Phase::kNew:
            break;
    }
    if (!config().valid) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (device_count() == 0) {
        if (const CUresult result = find_devices(); result != CUDA_SUCCESS) {
            return result;
        }
    }
    if (!arena_reserve()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (pthread_atfork(nullptr, nullptr, after_fork_in_child) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    current_phase.store(Phase::kReady, std::memory_order_release);
    announce();
    return CUDA_SUCCESS;
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuInit(unsigned int Flags) {
    return call(Entry::kInit, Needs::kNothing,
                [&] { return Flags != 0 ? CUDA_ERROR_INVALID_VALUE : initialize(); });
}

CUresult cuDriverGetVersion(int* driverVersion) {
    return call(Entry::kDriverGetVersion, Needs::kNothing, [&] {
        if (driverVersion == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *driverVersion = CUDA_VERSION;
        return CUDA_SUCCESS;
    });
}

void* softcuda_translate(const void* pointer) {
    return alias(reinterpret_cast<uint64_t>(pointer));
}
