// SPDX-License-Identifier: BSD-3-Clause
// Memory that this process has freed and another still maps: the device has it back only when that
// one lets go, as on hardware.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "softcuda/driver/device.hpp"

namespace softcuda {

/** Who else maps a piece of memory, kept beside it in memory that all of them share. */
struct Users {
    std::atomic<uint32_t> count;
    std::atomic<int32_t> latest;  // process id

    void add(int32_t pid) noexcept {
        latest.store(pid);
        count.fetch_add(1);
    }
};

/** Keeps `bytes` charged to `device` until `users` has none, or the latest of them has ended
 * without letting go. Takes over the mapping that `users` lies in. */
void hold(Device& device, uint64_t bytes, const Users& users, void* mapping, size_t mapping_bytes);

/** Gives back what nobody maps any more. */
void reclaim() noexcept;

}  // namespace softcuda
