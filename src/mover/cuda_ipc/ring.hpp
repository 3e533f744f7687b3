// SPDX-License-Identifier: BSD-3-Clause
// Exportable buffers on our own devices, in slots: what cannot be exported itself is copied through
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/driver.hpp"
#include "memory/pointer.hpp"

namespace beeline::mover::cuda_ipc {

/// The buffer of one device.
struct Ring {
    memory::Pointer memory;  ///< as memory::classify() tells
    CUipcMemHandle handle{};
    std::size_t slot_bytes = 0;
    std::vector<std::uint32_t> free_slots;
    std::uint32_t slots = 0;

    CUdeviceptr slot(std::uint32_t index) const noexcept {
        return memory.base + index * slot_bytes;
    }
    /// False when there is none now.
    bool take(std::uint32_t& index) noexcept {
        if (free_slots.empty()) {
            return false;
        }
        index = free_slots.back();
        free_slots.pop_back();
        return true;
    }
    void give_back(std::uint32_t index) noexcept { free_slots.push_back(index); }
    bool idle() const noexcept { return free_slots.size() == slots; }
};

/// One ring for each device, made when first wanted. One caller at a time.
class Rings {
 public:
    Rings(std::size_t slot_bytes, std::uint32_t slots) noexcept
        : slot_bytes_(slot_bytes), slots_(slots) {}
    ~Rings() { release(); }
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    /// The ring of the device that `side` is on; made anew when it was lost with its context. Null
    /// when the driver gives no memory or no handle: not tried again for this device. A ring stays
    /// where it is until release().
    Ring* of(const memory::Pointer& side) noexcept;
    /// Frees those of which no slot is out.
    void release() noexcept;
    /// The driver's answer when it last refused.
    CUresult refusal() const noexcept { return refusal_; }

 private:
    CUresult make(Ring& ring, const memory::Pointer& side) const noexcept;

    std::size_t slot_bytes_;
    std::uint32_t slots_;
    std::vector<std::unique_ptr<Ring>> rings_;
    std::vector<std::unique_ptr<Ring>> lost_;  // their slots may still be out
    std::vector<int> refused_;                 // devices
    CUresult refusal_ = CUDA_SUCCESS;
};

}  // namespace beeline::mover::cuda_ipc
