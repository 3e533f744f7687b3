// SPDX-License-Identifier: BSD-3-Clause
// Copies and reductions on the CPU, done when asked.
#pragma once

#include <memory>

#include "coll/exec/engine.hpp"

namespace beeline::coll::exec {

class HostEngine final : public ReduceEngine {
 public:
    Result<void*> scratch(std::size_t bytes) noexcept override;
    Status copy(void* target, const void* source, std::size_t bytes) noexcept override;
    Status reduce(kernel::Type type, kernel::Op op, const void* left, const void* right, void* out,
                  std::size_t count) noexcept override;
    Status reduce_many(kernel::Type type, kernel::Op op, std::span<const void* const> inputs,
                       void* out, std::size_t count) noexcept override;
    Status flush() noexcept override { return Status::kOk; }
    Status poll() noexcept override { return Status::kOk; }

 private:
    std::unique_ptr<std::byte[]> scratch_;
    std::size_t capacity_ = 0;
};

}  // namespace beeline::coll::exec
