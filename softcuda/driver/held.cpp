// SPDX-License-Identifier: BSD-3-Clause
// The list of held memory.
#include "softcuda/driver/held.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <vector>

namespace softcuda {
namespace {

struct Held {
    Device* device;
    uint64_t bytes;
    const Users* users;
    void* mapping;
    size_t mapping_bytes;
};

struct List {
    std::mutex mutex;
    std::vector<Held> held;
};

List& list() {
    static List& instance = *new List;
    return instance;
}

/** A process that crashed has let go of everything, and could not say so. */
bool is_alive(int32_t pid) noexcept {
    if (kill(pid, 0) != 0) {
        return errno != ESRCH;
    }
    // Nor does one have anything left that has ended and nobody has waited for.
    char name[32];
    std::snprintf(name, sizeof name, "/proc/%d/stat", static_cast<int>(pid));
    std::FILE* file = std::fopen(name, "re");
    char state = '?';
    if (file != nullptr) {
        if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = '?';
        }
        std::fclose(file);
    }
    return state != 'Z' && state != 'X';
}

}  // namespace

void hold(Device& device, uint64_t bytes, const Users& users, void* mapping, size_t mapping_bytes) {
    const std::lock_guard lock(list().mutex);
    list().held.push_back({&device, bytes, &users, mapping, mapping_bytes});
}

void reclaim() noexcept {
    const std::lock_guard lock(list().mutex);
    std::erase_if(list().held, [](const Held& held) {
        if (held.users->count.load() != 0 && is_alive(held.users->latest.load())) {
            return false;
        }
        refund(*held.device, held.bytes);
        munmap(held.mapping, held.mapping_bytes);
        return true;
    });
}

}  // namespace softcuda
