// SPDX-License-Identifier: BSD-3-Clause
// Pinned host chunks for copies that cannot go straight to where they should.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "memory/pointer.hpp"

namespace beeline::memory {

/// A bounded pool of equal chunks, made at first use and registered with CUDA. One caller at a
/// time.
class StagingPool {
 public:
    StagingPool(std::size_t chunk_bytes, std::size_t chunks) noexcept
        : chunk_bytes_(chunk_bytes), chunks_(chunks) {}
    ~StagingPool() { release(); }
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
    std::size_t chunks() const noexcept { return chunks_; }
    /// A chunk, or null when all are out (or there is no memory): try again after a give_back().
    /// `side` is the memory it is to serve: the pool is registered with CUDA for the first on a
    /// device. `leave` chunks stay for others.
    std::byte* take(const Pointer& side, std::size_t leave = 0) noexcept;
    /// All chunks; empty before the first was taken.
    std::span<std::byte> memory() const noexcept {
        return {base_, base_ != nullptr ? chunk_bytes_ * chunks_ : 0};
    }
    /// Whether the chunks are registered with CUDA.
    bool pinned() const noexcept { return registered_; }
    void give_back(std::byte* chunk) noexcept { free_.push_back(chunk); }
    /// Unregisters and frees the memory; no chunk may be out. The next take() makes it anew.
    void release() noexcept;

 private:
    bool allocate() noexcept;
    void pin(const Pointer& side) noexcept;

    std::size_t chunk_bytes_;
    std::size_t chunks_;
    std::byte* base_ = nullptr;
    bool registered_ = false;
    bool tried_ = false;  // to register it
    Pointer side_;
    std::vector<std::byte*> free_;
};

}  // namespace beeline::memory
