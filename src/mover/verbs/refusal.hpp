// SPDX-License-Identifier: BSD-3-Clause
// Why memory could not be registered with a network card, and what to do about it.
#pragma once

#include <cstdint>

namespace beeline::mover::verbs {

/// By what is missing.
enum class Missing : std::uint8_t {
    kNothing,
    kGpuSupport,    ///< the GPU, or its driver, has no GPUDirect RDMA
    kVmmSupport,    ///< the GPU has none for cuMemCreate memory
    kKind,          ///< managed or otherwise not capable memory
    kModule,        ///< neither dma-buf nor a peer memory module serves this card
    kLockedMemory,  ///< RLIMIT_MEMLOCK
    kBar,           ///< the GPU's window on the PCIe bus is full or too small
    kDescriptors,   ///< RLIMIT_NOFILE
    kDeviceLimit,   ///< max_mr, max_mr_size of the card
    kBounds,        ///< our own parameters
    kPermission,    ///< of the device file
    kDriver,        ///< the CUDA driver answered with an error
    kUnknown,
};
inline constexpr unsigned kMissingKinds = 13;

/// A refusal. `error` is an errno, or a CUresult for kDriver.
struct Refusal {
    Missing missing = Missing::kNothing;
    int error = 0;
    bool lasting = false;  ///< asking again is of no use
};

/// A few words for tables, as "memlock limit"; never null.
const char* to_string(Missing missing) noexcept;
/// One sentence that tells what to do, naming the module, limit or setting; never null.
const char* remedy(Missing missing) noexcept;

}  // namespace beeline::mover::verbs
