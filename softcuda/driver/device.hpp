// SPDX-License-Identifier: BSD-3-Clause
// The virtual GPUs: which there are, which this process sees, how they are connected.
#pragma once

#include <atomic>
#include <cstdint>

#include "softcuda/driver/driver.hpp"

struct CUctx_st;
struct CUmemPoolHandle_st;

namespace softcuda {

/** One visible virtual GPU. `physical` is its number on the machine, the same in every process. */
struct Device {
    int ordinal = 0;
    int physical = 0;
    CUuuid uuid{};
    std::atomic<uint64_t> used{0};
    CUctx_st* primary = nullptr;
    CUmemPoolHandle_st* default_pool = nullptr;
    CUmemPoolHandle_st* current_pool = nullptr;
};

/** Finds the visible devices; called once by cuInit. CUDA_ERROR_NO_DEVICE: none. */
CUresult find_devices();

/** Number of visible devices. */
int device_count() noexcept;

/** The device with this ordinal, nullptr if there is none. */
Device* device(int ordinal) noexcept;

/** The visible device with this machine-wide number, nullptr if this process does not see it. */
Device* device_by_physical(int physical) noexcept;

/** Whether one device can map another's memory. */
bool can_access_peer(int physical, int other) noexcept;

/** Counts `bytes` against the device's memory; false if they do not fit. */
bool charge(Device& device, uint64_t bytes) noexcept;
void refund(Device& device, uint64_t bytes) noexcept;

}  // namespace softcuda
