// SPDX-License-Identifier: BSD-3-Clause
// Memory that this process has freed and another still maps: the device has it back only when that
// one lets go, as on hardware.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "softcuda/driver/device.hpp"

namespace softcuda {

/** Keeps `bytes` charged to `device` until `*users` is 0. Takes over the mapping that `users` lies
 *  in. */
void hold(Device& device, uint64_t bytes, const std::atomic<uint32_t>* users, void* mapping,
          size_t mapping_bytes);

/** Gives back what nobody maps any more. */
void reclaim() noexcept;

}  // namespace softcuda
