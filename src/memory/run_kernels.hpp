// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking on a device: one launch however many runs there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

#include "cuda/driver.hpp"
#include "cuda/module.hpp"
#include "datatype/layout.hpp"

namespace beeline::memory {

enum class Direction : std::uint8_t { kGather, kScatter };

/// The kernels in one context, and the datatypes it knows. Every call is made with that context
/// current, one at a time.
class RunKernels {
 public:
    /// Makes sure that the kernels and the layout are on the device, using `stream` where they are
    /// not. False when that cannot be had, or the layout was not indexed: the runs are then copied
    /// one by one.
    bool prepare(const cuda::Driver& driver, CUstream stream,
                 const datatype::Layout& layout) noexcept;
    /// Launches the move of the packed range [skip, skip + bytes) between `buffer` and `packed`,
    /// memory that the device reaches. After prepare().
    CUresult move(const cuda::Driver& driver, CUstream stream, const datatype::Layout& layout,
                  const void* buffer, const void* packed, std::size_t skip, std::size_t bytes,
                  Direction direction) noexcept;
    /// Unloads and frees everything.
    void release(const cuda::Driver& driver) noexcept;

 private:
    struct Table {
        std::uint64_t layout = 0;
        CUdeviceptr memory = 0;
    };
    bool load(const cuda::Driver& driver) noexcept;

    cuda::Module module_;
    CUfunction gather_ = nullptr;
    CUfunction scatter_ = nullptr;
    bool tried_ = false;
    std::list<Table> tables_;  // most recently used first
};

}  // namespace beeline::memory
