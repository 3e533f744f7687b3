// SPDX-License-Identifier: BSD-3-Clause
// The list of held memory.
#include "softcuda/driver/held.hpp"

#include <sys/mman.h>

#include <mutex>
#include <vector>

namespace softcuda {
namespace {

struct Held {
    Device* device;
    uint64_t bytes;
    const std::atomic<uint32_t>* users;
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

}  // namespace

void hold(Device& device, uint64_t bytes, const std::atomic<uint32_t>* users, void* mapping,
          size_t mapping_bytes) {
    const std::lock_guard lock(list().mutex);
    list().held.push_back({&device, bytes, users, mapping, mapping_bytes});
}

void reclaim() noexcept {
    const std::lock_guard lock(list().mutex);
    std::erase_if(list().held, [](const Held& held) {
        if (held.users->load() != 0) {
            return false;
        }
        refund(*held.device, held.bytes);
        munmap(held.mapping, held.mapping_bytes);
        return true;
    });
}

}  // namespace softcuda
