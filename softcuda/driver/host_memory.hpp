// SPDX-License-Identifier: BSD-3-Clause
// Page-locked, registered and managed memory.
#pragma once

#include <cstdint>

#include "softcuda/driver/memory.hpp"

namespace softcuda {

/** Gives up host, registered or managed memory that starts at `address`; memory_mutex is held. */
void free_host(uint64_t address);

}  // namespace softcuda
