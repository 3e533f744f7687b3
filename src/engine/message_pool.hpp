// SPDX-License-Identifier: BSD-3-Clause
// Memory of kept messages, which floods of unexpected ones take and give back all the time.
#pragma once

#include <array>
#include <cstddef>

namespace beeline::engine {

/// Blocks in sizes of powers of two. Free ones are kept for the next message, up to a bound: given
/// back to the C library one by one they would be taken from the system and cleared again and
/// again. One caller at a time.
class MessagePool {
 public:
    MessagePool() = default;
    ~MessagePool();
    MessagePool(const MessagePool&) = delete;
    MessagePool& operator=(const MessagePool&) = delete;

    /// Memory for `bytes`, aligned as malloc's; null when there is none.
    void* take(std::size_t bytes) noexcept;
    /// Gives back what take() returned.
    void give_back(void* memory) noexcept;

    /// The most that is kept free, and what is.
    static constexpr std::size_t kMostKept = std::size_t{8} << 20;
    std::size_t kept() const noexcept { return kept_; }

 private:
    struct alignas(std::max_align_t) Block {
        Block* next;
        std::size_t size_class;
    };
    static constexpr std::size_t kSmallest = 512;     // bytes, Block included
    static constexpr std::size_t kClasses = 10;       // the largest: 256 KiB
    static constexpr std::size_t kUnkept = kClasses;  // class of blocks that are larger
    static constexpr std::size_t bytes_of(std::size_t size_class) noexcept {
        return kSmallest << size_class;
    }

    std::array<Block*, kClasses> free_{};
    std::size_t kept_ = 0;
};

}  // namespace beeline::engine
