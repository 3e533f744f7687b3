// SPDX-License-Identifier: BSD-3-Clause
// What an executor needs of the place where copies and reductions run: the CPU or a GPU.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "base/result.hpp"
#include "coll/kernel/types.hpp"

namespace beeline::coll::exec {

/// How much scratch to allocate for a need of `bytes`: so that small needs that grow allocate
/// seldom, and large ones waste little.
constexpr std::size_t scratch_capacity(std::size_t bytes) noexcept {
    constexpr std::size_t kLarge = std::size_t{2} << 20;
    return bytes < kLarge ? std::bit_ceil(bytes) : (bytes + kLarge - 1) / kLarge * kLarge;
}

/// Runs copies and reductions in the order given, perhaps later: their effect is certain after
/// flush() only. Addresses belong to the kind of memory the engine is for, or to its scratch.
class ReduceEngine {
 public:
    virtual ~ReduceEngine() = default;

    /// At least `bytes` of memory, 16-byte aligned, the engine's own, valid until the next call.
    /// Kept and reused, so that a repeated call allocates nothing.
    virtual Result<void*> scratch(std::size_t bytes) noexcept = 0;
    virtual Status copy(void* target, const void* source, std::size_t bytes) noexcept = 0;
    /// out = left (op) right, elementwise; see kernel::reduce_host.
    virtual Status reduce(kernel::Type type, kernel::Op op, const void* left, const void* right,
                          void* out, std::size_t count) noexcept = 0;
    /// out = ((inputs[0] (op) inputs[1]) (op) inputs[2]) ...; see kernel::reduce_host_many. From 2
    /// to kernel::kMostInputs inputs; `out` may be one of them itself.
    virtual Status reduce_many(kernel::Type type, kernel::Op op,
                               std::span<const void* const> inputs, void* out,
                               std::size_t count) noexcept = 0;
    /// Waits until everything given so far is done and visible to whoever reads the memory next.
    virtual Status flush() noexcept = 0;
    /// As flush(), without waiting: kRetry while something is not done yet.
    virtual Status poll() noexcept = 0;
};

}  // namespace beeline::coll::exec
