// SPDX-License-Identifier: BSD-3-Clause
// Ids for requests that travel to peers: what comes back is looked up, never believed to be an
// address.
#pragma once

#include <cstdint>
#include <vector>

namespace beeline::engine {

/// Ids are an index and a generation, so that an old id does not find a new request. 0 is never an
/// id.
template <class T>
class RequestTable {
 public:
    std::uint64_t add(T* request) {
        std::uint32_t index = free_;
        if (index == kNone) {
            index = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({});
        } else {
            free_ = entries_[index].next;
        }
        entries_[index].request = request;
        return (std::uint64_t{entries_[index].generation} << 32) | index;
    }
    T* find(std::uint64_t id) const noexcept {
        const auto index = static_cast<std::uint32_t>(id);
        return index < entries_.size() && entries_[index].generation == id >> 32
                   ? entries_[index].request
                   : nullptr;
    }
    void remove(std::uint64_t id) noexcept {
        const auto index = static_cast<std::uint32_t>(id);
        if (find(id) == nullptr) {
            return;
        }
        Entry& entry = entries_[index];
        entry.request = nullptr;
        ++entry.generation;
        entry.next = free_;
        free_ = index;
    }
    std::size_t size() const noexcept { return entries_.size(); }

 private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Entry {
        T* request = nullptr;
        std::uint32_t generation = 1;
        std::uint32_t next = kNone;
    };
    std::vector<Entry> entries_;
    std::uint32_t free_ = kNone;
};

}  // namespace beeline::engine
