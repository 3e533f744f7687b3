// SPDX-License-Identifier: BSD-3-Clause
// Memory pools of other processes that we have imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "cuda/driver.hpp"
#include "mover/cuda_ipc/handles.hpp"

namespace beeline::mover::cuda_ipc {

/// Pools of other processes. Bounded, oldest first out. One caller at a time.
class PoolImports {
 public:
    PoolImports() = default;
    ~PoolImports() { clear(); }
    PoolImports(const PoolImports&) = delete;
    PoolImports& operator=(const PoolImports&) = delete;

    bool knows(std::uint64_t peer, std::uint64_t id) const noexcept;
    /// Imports a pool by its descriptor, which stays the caller's, replacing what had its name.
    CUresult add(const cuda::Driver& driver, std::uint64_t peer, std::uint64_t id, int descriptor,
                 int device) noexcept;
    void forget(std::uint64_t peer, std::uint64_t id) noexcept;
    /// Opens an allocation of a known pool: the address here. The context that is to use it must be
    /// current.
    CUresult open(std::uint64_t peer, std::uint64_t id, const CUmemPoolPtrExportData& data,
                  CUdeviceptr& address) const noexcept;
    /// Forgets all; their allocations must have been freed.
    void clear() noexcept;
    std::size_t size() const noexcept { return pools_.size(); }

 private:
    static constexpr std::size_t kMost = 64;
    struct Pool {
        std::uint64_t peer;
        std::uint64_t id;
        const cuda::Driver* driver;
        CUmemoryPool pool;
    };
    const Pool* find(std::uint64_t peer, std::uint64_t id) const noexcept;
    std::vector<Pool> pools_;  // oldest first
};

}  // namespace beeline::mover::cuda_ipc
