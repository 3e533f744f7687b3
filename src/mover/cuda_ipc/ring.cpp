// SPDX-License-Identifier: BSD-3-Clause
// Making and dropping rings.
#include "mover/cuda_ipc/ring.hpp"

#include <algorithm>

#include "cuda/context.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

bool exists(const Ring& ring) noexcept {
    std::uint64_t id = 0;
    return ring.memory.driver->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                     ring.memory.base) == CUDA_SUCCESS &&
           id == ring.memory.buffer_id;
}

void free_memory(const Ring& ring) noexcept {
    const cuda::ContextScope scope(*ring.memory.driver, ring.memory.context);
    const cuda::CaptureScope captures(*ring.memory.driver);
    if (scope.result() == CUDA_SUCCESS && exists(ring)) {
        ring.memory.driver->cuMemFree(ring.memory.base);
    }
}

}  // namespace

CUresult Rings::make(Ring& ring, const memory::Pointer& side) const noexcept {
    const cuda::Driver& driver = *side.driver;
    const cuda::ContextScope scope(driver, side.context);
    const cuda::CaptureScope captures(driver);
    CUdeviceptr memory = 0;
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = driver.cuMemAlloc(&memory, slot_bytes_ * slots_);
    }
    if (result == CUDA_SUCCESS) {
        result = driver.cuIpcGetMemHandle(&ring.handle, memory);
        if (result != CUDA_SUCCESS) {
            driver.cuMemFree(memory);
        }
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    ring.memory = memory::classify(reinterpret_cast<void*>(memory));
    ring.slot_bytes = slot_bytes_;
    ring.slots = slots_;
    ring.free_slots.clear();
    for (std::uint32_t index = slots_; index > 0; --index) {
        ring.free_slots.push_back(index - 1);
    }
    return CUDA_SUCCESS;
}

Ring* Rings::of(const memory::Pointer& side) noexcept {
    for (auto at = rings_.begin(); at != rings_.end(); ++at) {
        if ((*at)->memory.device != side.device) {
            continue;
        }
        if (exists(**at)) {
            return at->get();
        }
        lost_.push_back(std::move(*at));
        rings_.erase(at);
        break;
    }
    if (std::find(refused_.begin(), refused_.end(), side.device) != refused_.end()) {
        return nullptr;
    }
    auto ring = std::make_unique<Ring>();
    refusal_ = make(*ring, side);
    if (refusal_ != CUDA_SUCCESS) {
        refused_.push_back(side.device);
        return nullptr;
    }
    rings_.push_back(std::move(ring));
    return rings_.back().get();
}

void Rings::release() noexcept {
    std::erase_if(lost_, [](const std::unique_ptr<Ring>& ring) { return ring->idle(); });
    std::erase_if(rings_, [](const std::unique_ptr<Ring>& ring) {
        if (ring->idle()) {
            free_memory(*ring);
        }
        return ring->idle();
    });
}

}  // namespace beeline::mover::cuda_ipc
