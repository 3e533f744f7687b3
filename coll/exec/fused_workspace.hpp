// SPDX-License-Identifier: BSD-3-Clause
// The device memory into which the ranks of a fused collective write for each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "cuda/stream.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll::exec {

/// Host memory that a kernel reads and writes while it runs. A cache line for each direction.
struct FusedMailbox {
    alignas(64) std::atomic<std::uint64_t> report;  ///< by the kernel
    alignas(64) std::atomic<std::uint32_t> abort;   ///< by the host
};

/// What others need to map a workspace; travels as it is between processes of one node.
struct FusedAddress {
    std::uint64_t process = 0;  ///< a random number of the owner's
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t buffer_id = 0;
    std::uint64_t context = 0;
    CUipcMemHandle handle{};
};

/// One communicator's memory on this rank's device, with what a call needs besides.
struct FusedWorkspace {
    FusedAddress address;
    const cuda::Driver* driver = nullptr;
    CUcontext context = nullptr;
    memory::Pointer place;  ///< of the memory
    cuda::Stream stream;
    FusedMailbox* mailbox = nullptr;
    CUdeviceptr mailbox_on_device = 0;
};

/// A workspace of `bytes`, all zero, in a context that must be current: one that was given back, or
/// a new one. Belongs to the process; to be given back. kDriver or kNoMemory after one warning when
/// it cannot be had. Thread-safe, as all here.
Result<FusedWorkspace*> take_fused_workspace(const cuda::Driver& driver, CUcontext context,
                                             std::size_t bytes) noexcept;

/// Takes a workspace back. It is kept for the next communicator, as peers may still have it mapped,
/// and never freed before free_fused_workspaces(). One that peers might still write to (`clean` is
/// false, after a failure) is never used again.
void give_back_fused_workspace(FusedWorkspace* workspace, bool clean) noexcept;

/// A rank's workspace as the current context sees it. Stays mapped until unmap_fused_workspaces(),
/// so that the next communicator finds it. Null when this process cannot reach it.
void* map_fused_workspace(const cuda::Driver& driver, CUcontext context,
                          const FusedAddress& address) noexcept;

/// At finalize, in this order: closes what is mapped of others; then, once all have done so, frees
/// our own.
void unmap_fused_workspaces() noexcept;
void free_fused_workspaces() noexcept;

}  // namespace beeline::coll::exec
