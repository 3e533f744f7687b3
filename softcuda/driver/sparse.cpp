// SPDX-License-Identifier: BSD-3-Clause
// Walks the holes of memory files, and looks for zeros where there is no file.
#include "softcuda/driver/sparse.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "softcuda/driver/memory.hpp"

namespace softcuda {
namespace {

/** Memory without a file is looked at in pieces of this size. */
constexpr uint64_t kPiece = 64 << 10;

bool all_zero(const char* from, uint64_t bytes) {
    return *from == 0 && std::memcmp(from, from + 1, bytes - 1) == 0;
}

/** Calls data(begin, end) and hole(begin, end) for the parts of [0, bytes), in order. */
template <class Data, class Hole>
void for_each_part(const Backing& file, uint64_t bytes, Data&& data, Hole&& hole) {
    for (uint64_t at = 0; at < bytes;) {
        const off_t found = lseek(file.fd, static_cast<off_t>(file.offset + at), SEEK_DATA);
        const uint64_t start =
            found < 0 ? bytes : std::min(static_cast<uint64_t>(found) - file.offset, bytes);
        if (start > at) {
            hole(at, start);
        }
        if (start == bytes) {
            return;
        }
        const off_t after = lseek(file.fd, found, SEEK_HOLE);
        at = after < 0 ? bytes : std::min(static_cast<uint64_t>(after) - file.offset, bytes);
        data(start, at);
    }
}

/** Makes a range read as zeros. */
void clear(char* to, const Backing& target, uint64_t bytes) {
    if (target.fd >= 0) {
        fill_data(to, target, 0, bytes);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += kPiece) {
        const uint64_t length = std::min(kPiece, bytes - at);
        if (!all_zero(to + at, length)) {
            std::memset(to + at, 0, length);
        }
    }
}

}  // namespace

void fill_data(char* to, const Backing& target, int value, uint64_t bytes) {
    for_each_part(
        target, bytes,
        [&](uint64_t begin, uint64_t end) { std::memset(to + begin, value, end - begin); },
        [](uint64_t, uint64_t) {});
}

Backing backing_of(uint64_t address) {
    const std::lock_guard lock(memory_mutex());
    const Allocation* found = find_allocation(address);
    if (found == nullptr || found->segment == nullptr) {
        return {};
    }
    return {found->segment->fd, address - found->segment->address};
}

void copy_sparse(char* to, const Backing& target, const char* from, const Backing& source,
                 uint64_t bytes) {
    const auto clear_part = [&](uint64_t begin, uint64_t end) {
        clear(to + begin, {target.fd, target.offset + begin}, end - begin);
    };
    const auto copy_part = [&](uint64_t begin, uint64_t end) {
        std::memcpy(to + begin, from + begin, end - begin);
    };
    if (source.fd >= 0) {
        for_each_part(source, bytes, copy_part, clear_part);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += kPiece) {
        const uint64_t end = std::min(at + kPiece, bytes);
        if (all_zero(from + at, end - at)) {
            clear_part(at, end);
        } else {
            copy_part(at, end);
        }
    }
}

}  // namespace softcuda
