// SPDX-License-Identifier: BSD-3-Clause
// The counting new and delete of a test program.
#include "support/allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count;

}  // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(bytes != 0 ? bytes : 1);
}
void* operator new(std::size_t bytes) {
    if (void* memory = operator new(bytes, std::nothrow)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace beeline::test {

std::uint64_t allocations() noexcept {
    return count.load(std::memory_order_relaxed);
}

}  // namespace beeline::test
