// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine.
#include "coll/exec/host_engine.hpp"

#include <cstring>
#include <new>

#include "coll/kernel/reduce_host.hpp"

namespace beeline::coll::exec {

Result<void*> HostEngine::scratch(std::size_t bytes) noexcept {
    if (bytes > capacity_) {
        const std::size_t capacity = scratch_capacity(bytes);
        scratch_.reset(new (std::nothrow) std::byte[capacity]);
        capacity_ = scratch_ != nullptr ? capacity : 0;
        if (scratch_ == nullptr) {
            return Status::kNoMemory;
        }
    }
    return static_cast<void*>(scratch_.get());
}

Status HostEngine::copy(void* target, const void* source, std::size_t bytes) noexcept {
    std::memcpy(target, source, bytes);
    return Status::kOk;
}

Status HostEngine::reduce(kernel::Type type, kernel::Op op, const void* left, const void* right,
                          void* out, std::size_t count) noexcept {
    kernel::reduce_host(type, op, left, right, out, count);
    return Status::kOk;
}

Status HostEngine::reduce_many(kernel::Type type, kernel::Op op,
                               std::span<const void* const> inputs, void* out,
                               std::size_t count) noexcept {
    kernel::reduce_host_many(type, op, inputs, out, count);
    return Status::kOk;
}

}  // namespace beeline::coll::exec
