// SPDX-License-Identifier: BSD-3-Clause
// Where the process's stack, data and heap lie.
#include "memory/always_host.hpp"

#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace beeline::memory {
namespace {

/// Addresses from `begin` up to `end`; empty when nothing is known.
struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool holds(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
};

Range stack_of_this_thread() noexcept {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return {};
    }
    void* lowest = nullptr;
    std::size_t bytes = 0;
    const int failed = pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
    return failed == 0 ? Range{begin, begin + bytes} : Range{};
}

/// The writable part of the main program, which is never unmapped.
Range data_of_program() noexcept {
    Range range;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* found) {
            for (int i = 0; i < object->dlpi_phnum; ++i) {
                const auto& part = object->dlpi_phdr[i];
                if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0) {
                    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
                    *static_cast<Range*>(found) = {begin, begin + part.p_memsz};
                }
            }
            return 1;  // the first object is the program
        },
        &range);
    return range;
}

/// Where the heap begins; it ends at the program break. All ones when that is not known.
std::uintptr_t start_of_heap() noexcept {
    std::uintptr_t start = UINTPTR_MAX;
    std::FILE* file = std::fopen("/proc/self/maps", "re");
    if (file == nullptr) {
        return start;
    }
    char line[512];
    while (start == UINTPTR_MAX && std::fgets(line, sizeof line, file) != nullptr) {
        unsigned long begin = 0;
        if (std::strstr(line, "[heap]") != nullptr && std::sscanf(line, "%lx-", &begin) == 1) {
            start = begin;
        }
    }
    std::fclose(file);
    return start;
}

}  // namespace

bool always_host(const void* pointer) noexcept {
    static const Range data = data_of_program();
    static const std::uintptr_t heap = start_of_heap();
    thread_local const Range stack = stack_of_this_thread();
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    // Above the frame we run in, so that the range is in use whatever the thread does with the
    // rest.
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (stack.holds(frame) && Range{frame, stack.end}.holds(address)) {
        return true;
    }
    if (data.holds(address)) {
        return true;
    }
    const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));  // a variable of the C library
    return heap <= end && end != UINTPTR_MAX && Range{heap, end}.holds(address);
}

}  // namespace beeline::memory
