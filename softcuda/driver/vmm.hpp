// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory management: reserved address ranges and what may be mapped in them.
#pragma once

#include <cstdint>

#include "softcuda/driver/memory.hpp"

namespace softcuda {

/** Whether [address, address + size) starts in a range of cuMemAddressReserve; memory_mutex is
 *  held. */
bool is_reserved(uint64_t address, uint64_t size);

/** The reservation that holds `address`; false if there is none. memory_mutex is held. */
bool find_reservation(uint64_t address, uint64_t* start, uint64_t* size);

/** Access of the current context's device to an allocation, as CUmemAccess_flags. */
unsigned access_flags(const Allocation& allocation);

}  // namespace softcuda
