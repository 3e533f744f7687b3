// SPDX-License-Identifier: BSD-3-Clause
// Device memory that the test patterns of new connections are written into: the way from the card
// to the GPU is what may garble, so it is what has to be tested.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/pointer.hpp"
#include "mover/verbs/regions.hpp"

namespace beeline::engine {

/// A few pieces of one allocation, made at the first use and kept: freeing device memory waits for
/// the device.
class Landings {
 public:
    explicit Landings(std::size_t piece_bytes) noexcept : piece_bytes_(piece_bytes) {}
    Landings(const Landings&) = delete;
    Landings& operator=(const Landings&) = delete;

    /// A piece on the device of `side`, or on that of an earlier call; null when there is none:
    /// all are taken, or the driver or the cards refuse.
    std::byte* take(mover::verbs::Regions& regions, const memory::Pointer& side,
                    mover::verbs::RailSet ports);
    void give_back(std::byte* piece) { free_.push_back(piece); }
    /// What the pieces are registered by; null before take().
    const mover::verbs::Region* region() const noexcept { return region_; }
    const memory::Pointer& where() const noexcept { return where_; }
    void release(mover::verbs::Regions& regions) noexcept;

 private:
    bool exists() const noexcept;

    std::size_t piece_bytes_;
    bool tried_ = false;
    memory::Pointer where_;
    mover::verbs::Region* region_ = nullptr;
    std::vector<std::byte*> free_;
};

}  // namespace beeline::engine
