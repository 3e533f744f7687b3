// SPDX-License-Identifier: BSD-3-Clause
// Free blocks as a list for each size.
#include "engine/message_pool.hpp"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace beeline::engine {

MessagePool::~MessagePool() {
    for (Block* block : free_) {
        while (block != nullptr) {
            std::free(std::exchange(block, block->next));
        }
    }
}

void* MessagePool::take(std::size_t bytes) noexcept {
    if (bytes > SIZE_MAX - sizeof(Block)) {
        return nullptr;
    }
    const std::size_t whole = sizeof(Block) + bytes;
    std::size_t size_class = kUnkept;
    if (whole <= bytes_of(kClasses - 1)) {
        size_class = whole <= kSmallest
                         ? 0
                         : static_cast<std::size_t>(std::bit_width((whole - 1) / kSmallest));
        if (Block* block = free_[size_class]; block != nullptr) {
            free_[size_class] = block->next;
            kept_ -= bytes_of(size_class);
            return block + 1;
        }
    }
    void* memory = std::malloc(size_class == kUnkept ? whole : bytes_of(size_class));
    return memory == nullptr ? nullptr : new (memory) Block{nullptr, size_class} + 1;
}

void MessagePool::give_back(void* memory) noexcept {
    Block* block = static_cast<Block*>(memory) - 1;
    const std::size_t size_class = block->size_class;
    if (size_class == kUnkept || kept_ + bytes_of(size_class) > kMostKept) {
        std::free(block);
        return;
    }
    block->next = free_[size_class];
    free_[size_class] = block;
    kept_ += bytes_of(size_class);
}

}  // namespace beeline::engine
