// SPDX-License-Identifier: BSD-3-Clause
// Memory that ends at a page nobody may touch: one byte too far is a crash, with or without a
// sanitizer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>

namespace beeline::test {

/// Hands out spans that end exactly where the accessible memory ends.
class GuardPage {
 public:
    /// Room for spans of up to `bytes`.
    explicit GuardPage(std::size_t bytes) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        usable_ = (bytes + page - 1) / page * page;
        mapped_ = usable_ + page;
        void* memory =
            mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::bad_alloc();
        }
        memory_ = static_cast<std::byte*>(memory);
        if (mprotect(memory_ + usable_, page, PROT_NONE) != 0) {
            throw std::bad_alloc();
        }
    }
    ~GuardPage() { munmap(memory_, mapped_); }
    GuardPage(const GuardPage&) = delete;
    GuardPage& operator=(const GuardPage&) = delete;

    /// The last `bytes` before the guard. Valid until this object dies; every call reuses the same
    /// memory.
    std::span<std::byte> tail(std::size_t bytes) {
        return {memory_ + usable_ - std::min(bytes, usable_), std::min(bytes, usable_)};
    }

    /// A copy of `data` that ends at the guard.
    std::span<std::byte> copy(std::span<const std::byte> data) {
        const auto place = tail(data.size());
        std::copy(data.begin(), data.end(), place.begin());
        return place;
    }

 private:
    std::byte* memory_ = nullptr;
    std::size_t usable_ = 0;
    std::size_t mapped_ = 0;
};

}  // namespace beeline::test
