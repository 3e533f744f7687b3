// SPDX-License-Identifier: BSD-3-Clause
// The table of verdicts: few pairs, looked through from the start.
#include "mover/cuda_ipc/verdicts.hpp"

#include <cstring>

namespace beeline::mover::cuda_ipc {
namespace {

constexpr unsigned kFailuresInARow = 3;

/// Errors that another allocation of the same pair may not meet.
bool may_pass(CUresult reason) noexcept {
    return reason == CUDA_SUCCESS || reason == CUDA_ERROR_INVALID_VALUE ||
           reason == CUDA_ERROR_OUT_OF_MEMORY || reason == CUDA_ERROR_ALREADY_MAPPED ||
           reason == CUDA_ERROR_MAP_FAILED || reason == CUDA_ERROR_INVALID_CONTEXT ||
           reason == CUDA_ERROR_CONTEXT_IS_DESTROYED || reason == CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

Verdicts::Verdict& Verdicts::of(const Pair& pair) noexcept {
    for (Verdict& verdict : all_) {
        if (verdict.pair == pair) {
            return verdict;
        }
    }
    Verdict made;
    made.pair = pair;
    all_.push_back(made);
    return all_.back();
}

bool Verdicts::allows(const Pair& pair) const noexcept {
    for (const Verdict& verdict : all_) {
        if (verdict.pair == pair) {
            return !verdict.refused;
        }
    }
    return true;
}

void Verdicts::succeeded(const Pair& pair) noexcept {
    Verdict& verdict = of(pair);
    verdict.worked = true;
    verdict.failures = 0;
}

void Verdicts::failed(const Pair& pair, const char* step, CUresult reason) noexcept {
    Verdict& verdict = of(pair);
    ++verdict.failures;
    verdict.step = step;
    verdict.reason = reason;
    verdict.refused = (!may_pass(reason) && !verdict.worked) || verdict.failures >= kFailuresInARow;
}

DeviceUuid uuid_of(const cuda::Driver& driver, int device) noexcept {
    // Asked once for each device: it is wanted for every message.
    static thread_local std::vector<DeviceUuid> known;
    const auto index = static_cast<std::size_t>(device);
    if (device < 0 || driver.cuDeviceGetUuid == nullptr) {
        return {};
    }
    while (known.size() <= index) {
        CUuuid uuid{};
        DeviceUuid made{};
        if (driver.cuDeviceGetUuid(&uuid, static_cast<CUdevice>(known.size())) == CUDA_SUCCESS) {
            std::memcpy(made.data(), uuid.bytes, made.size());
        }
        known.push_back(made);
    }
    return known[index];
}

}  // namespace beeline::mover::cuda_ipc
