// SPDX-License-Identifier: BSD-3-Clause
// Whether a copy or fill may touch a range of addresses, and what kind of memory it is.
#pragma once

#include <cstdint>

#include "softcuda/driver/context.hpp"

namespace softcuda {

/** Memory as a copy sees it. */
enum class MemoryPlace { kPageable, kPinned, kManaged, kDevice };

/** What check_access found. */
struct Access {
    CUresult result;  // CUDA_SUCCESS, INVALID_VALUE, or ILLEGAL_ADDRESS: the operation would fault
    MemoryPlace place;
    int physical;       // device the memory belongs to, -1: host
    bool sync = false;  // synchronous operations on it are complete when they return
};

/** Checks [address, address + size) for reading or writing by a device of `context`. Size 0 is
 *  always fine. Host memory CUDA does not know is pageable and taken as it is. */
Access check_access(const CUctx_st& context, uint64_t address, uint64_t size, bool write);

}  // namespace softcuda
