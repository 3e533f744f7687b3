// SPDX-License-Identifier: BSD-3-Clause
// When data that a network card wrote into device memory is visible to the device.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "memory/pointer.hpp"

namespace beeline::mover::verbs {

/// What a device says of writes into its memory from outside: the values of
/// CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING and _FLUSH_WRITES_OPTIONS.
struct WriteOrdering {
    int ordering = 0;            ///< 0 none, 100 the owner, 200 all devices
    unsigned flush_options = 0;  ///< bit 0: cuFlushGPUDirectRDMAWrites, bit 1: stream operations
};

/// Who will read the data that was written.
enum class Reader : std::uint8_t {
    kOwner,       ///< the device that owns the memory: copies and kernels on it
    kAllDevices,  ///< also other devices, through peer access or IPC
};

enum class Flush : std::uint8_t {
    kNone,  ///< the completion is enough
    kCall,  ///< cuFlushGPUDirectRDMAWrites
    kRead,  ///< a read of the memory by the same card, over a queue pair to itself
};

/// What has to happen between a completion and telling the application; the rules stand with the
/// definition.
Flush flush_needed(const WriteOrdering& device, Reader reader) noexcept;

/// Asks the driver; all 0 when it cannot say (then flush). No caching: once a device.
WriteOrdering write_ordering_of(const memory::Pointer& where) noexcept;

/// cuFlushGPUDirectRDMAWrites in the context of `where`. kDriver, logged once, when it fails.
Status flush_writes(const memory::Pointer& where, Reader reader) noexcept;

}  // namespace beeline::mover::verbs
