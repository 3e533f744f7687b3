// SPDX-License-Identifier: BSD-3-Clause
// One small allocation on the device, registered.
#include "engine/rdma_landings.hpp"

#include <utility>

#include "cuda/context.hpp"
#include "cuda/driver.hpp"

namespace beeline::engine {
namespace {

constexpr std::size_t kPieces = 16;

}  // namespace

/// False once a device reset has taken the memory away.
bool Landings::exists() const noexcept {
    const memory::Pointer now = memory::classify(reinterpret_cast<const void*>(where_.base));
    return now.on_device() && now.buffer_id == where_.buffer_id;
}

std::byte* Landings::take(mover::verbs::Regions& regions, const memory::Pointer& side,
                          mover::verbs::RailSet ports) {
    if (!tried_ && side.kind == memory::Kind::kDevice && side.context != nullptr) {
        tried_ = true;
        const cuda::ContextScope scope(*side.driver, side.context);
        const cuda::CaptureScope captures(*side.driver);
        CUdeviceptr memory = 0;
        if (scope.result() != CUDA_SUCCESS ||
            side.driver->cuMemAlloc(&memory, kPieces * piece_bytes_) != CUDA_SUCCESS) {
            return nullptr;
        }
        where_ = memory::classify(reinterpret_cast<void*>(memory));
        auto region = regions.acquire(where_, memory, kPieces * piece_bytes_, ports);
        if (!region) {
            side.driver->cuMemFree(memory);
            return nullptr;
        }
        region_ = *region;
        for (std::size_t i = 0; i < kPieces; ++i) {
            free_.push_back(reinterpret_cast<std::byte*>(memory + i * piece_bytes_));
        }
    }
    if (region_ == nullptr || free_.empty() || !exists()) {
        return nullptr;
    }
    std::byte* piece = free_.back();
    free_.pop_back();
    return piece;
}

void Landings::release(mover::verbs::Regions& regions) noexcept {
    if (region_ == nullptr) {
        return;
    }
    regions.discard(std::exchange(region_, nullptr));
    free_.clear();
    const cuda::ContextScope scope(*where_.driver, where_.context);
    const cuda::CaptureScope captures(*where_.driver);
    if (scope.result() == CUDA_SUCCESS && exists()) {
        where_.driver->cuMemFree(where_.base);
    }
}

}  // namespace beeline::engine
