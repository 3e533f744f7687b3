// SPDX-License-Identifier: BSD-3-Clause
// What the host and the fused collective kernels tell each other. For nvcc as well: includes
// nothing but <cstddef> and <cstdint>.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beeline::coll::kernel {

/// The most ranks of one fused collective.
inline constexpr unsigned kFusedRanks = 16;

// The header of a workspace: words of 32 bits at these offsets, zero between calls. All but the
// last are the owner's. Slots follow.
inline constexpr std::size_t kFusedTickets = 0;   ///< blocks that are done
inline constexpr std::size_t kFusedStuck = 4;     ///< why a thread gave up (see fused_cause)
inline constexpr std::size_t kFusedDevice = 8;    ///< some rank's buffers are device memory
inline constexpr std::size_t kFusedStopped = 64;  ///< of each rank: it gave up, and sends no more
inline constexpr std::size_t kFusedHeader = 256;

enum class FusedReason : std::uint32_t {
    kNone,
    kAborted,      ///< the host said so
    kLate,         ///< the kernel's own limit
    kPeerStopped,  ///< the peer gave up
};

/// A reason, the step (1: inputs, 2: results) and the rank that was waited for, in 24 bits; zero is
/// none.
constexpr std::uint32_t fused_cause(FusedReason reason, unsigned step, unsigned rank) {
    return static_cast<std::uint32_t>(reason) << 16 | step << 8 | rank;
}

/// The parameter of a fused allreduce. Memory of the device, or mapped by it.
struct FusedCall {
    const void* input;
    void* output;                  ///< may be `input`
    std::size_t count;             ///< elements, at least one
    void* workspace[kFusedRanks];  ///< of each rank, as this device sees it
    std::size_t half;              ///< offset of the slots of this call in all workspaces
    std::size_t slot;              ///< bytes of a slot
    void* report;                  ///< 64 bits in host memory: flag, device, cause (fused_report)
    void* abort;                   ///< 32 bits in host memory: not zero to give up
    std::uint64_t limit;           ///< nanoseconds after which the kernel gives up
    std::uint32_t rank;
    std::uint32_t size;
    std::uint32_t flag;  ///< twice the call's number, plus one when our buffers are device memory
    std::uint32_t two_shot;
};

}  // namespace beeline::coll::kernel
