// SPDX-License-Identifier: BSD-3-Clause
// Keeps the memory of destroyed handles for a while, so that a call with a stale one gets an error.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

namespace softcuda {

/** Takes over `object`, which must say of itself that it is destroyed, and deletes the oldest of
 * its type when there are more than a few thousand. */
template <class Object>
void bury(Object* object) {
    constexpr size_t kKept = 4096;
    struct Graveyard {
        std::mutex mutex;
        std::deque<std::unique_ptr<Object>> objects;
    };
    static Graveyard& graveyard = *new Graveyard;
    std::unique_ptr<Object> oldest;
    const std::lock_guard lock(graveyard.mutex);
    graveyard.objects.emplace_back(object);
    if (graveyard.objects.size() > kKept) {
        oldest = std::move(graveyard.objects.front());
        graveyard.objects.pop_front();
    }
}

}  // namespace softcuda
