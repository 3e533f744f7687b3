// SPDX-License-Identifier: BSD-3-Clause
// The pool's memory: one anonymous mapping, registered once.
#include "memory/staging_pool.hpp"

#include <sys/mman.h>

#include "memory/copy.hpp"

namespace beeline::memory {

void StagingPool::release() noexcept {
    if (base_ == nullptr) {
        return;
    }
    if (registered_) {
        unregister_host(*side_.driver, side_.context, base_);
    }
    munmap(base_, chunk_bytes_ * chunks_);
    base_ = nullptr;
    registered_ = false;
    tried_ = false;
    free_.clear();
}

bool StagingPool::allocate() noexcept {
    void* memory = mmap(nullptr, chunk_bytes_ * chunks_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    base_ = static_cast<std::byte*>(memory);
    free_.reserve(chunks_);
    for (std::size_t i = chunks_; i > 0; --i) {
        free_.push_back(base_ + (i - 1) * chunk_bytes_);
    }
    return true;
}

void StagingPool::pin(const Pointer& side) noexcept {
    tried_ = true;
    side_ = side;
    registered_ = register_host(*side.driver, side.context, base_, chunk_bytes_ * chunks_);
}

std::byte* StagingPool::take(const Pointer& side, std::size_t leave) noexcept {
    if ((base_ == nullptr && !allocate()) || free_.size() <= leave) {
        return nullptr;
    }
    if (!tried_ && side.driver != nullptr) {
        pin(side);
    }
    std::byte* chunk = free_.back();
    free_.pop_back();
    return chunk;
}

}  // namespace beeline::memory
