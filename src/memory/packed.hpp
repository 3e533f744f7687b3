// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous data of a device, moved on a stream by one launch or by a copy for each run.
#pragma once

#include <cstddef>

#include "cuda/driver.hpp"
#include "datatype/layout.hpp"
#include "memory/copy.hpp"
#include "memory/run_kernels.hpp"

namespace beeline::memory {

/// A stream or kernel of a destroyed context answers like this; the context's handle may be in use
/// again since.
inline bool is_stale(CUresult result) noexcept {
    return cuda::is_gone(result) || result == CUDA_ERROR_INVALID_HANDLE;
}

/// A packed range of a buffer on a device, and the host memory it goes to or comes from.
struct Packed {
    const datatype::Layout& layout;
    std::size_t count;
    const void* buffer;
    std::size_t skip;
    const void* host;
    std::size_t bytes;
    Direction direction;
    Packing packing = Packing::kAsk;
};

/// Whether the range has more runs than single copies are good for; an estimate.
bool many_runs(const Packed& range) noexcept;

/// Enqueues the move of a packed range: one launch where kernels reach the host memory, else one
/// copy per run.
/// The context of `stream` and `kernels` is current.
CUresult enqueue_packed(const cuda::Driver& driver, RunKernels& kernels, CUstream stream,
                        const Packed& range) noexcept;

}  // namespace beeline::memory
