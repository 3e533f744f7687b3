// SPDX-License-Identifier: BSD-3-Clause
// Ids for requests that travel to peers: what comes back is looked up, never believed to be an
// address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beeline::engine {

/// Ids are an index and a generation, so that an old id does not find a new request. 0 is never an
/// id.
template <class T>
class RequestTable {
 public:
    /// With a secret, generations follow from it, so that only who was told an id can name the
    /// request; with 0 they count from 1.
    explicit RequestTable(std::uint64_t secret = 0) noexcept : secret_(secret) {}

    std::uint64_t add(T* request) {
        std::uint32_t index = free_;
        if (index == kNone) {
            index = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({nullptr, generation_after(0), kNone});
        } else {
            free_ = entries_[index].next;
        }
        entries_[index].request = request;
        ++used_;
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
        --used_;
        entry.generation = generation_after(entry.generation);
        entry.next = free_;
        free_ = index;
    }
    /// Calls `visit` with each request.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Entry& entry : entries_) {
            if (entry.request != nullptr) {
                visit(*entry.request);
            }
        }
    }
    std::size_t size() const noexcept { return entries_.size(); }
    /// Ids given out and not removed.
    std::size_t used() const noexcept { return used_; }

 private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Entry {
        T* request = nullptr;
        std::uint32_t generation = 0;
        std::uint32_t next = kNone;
    };
    std::uint32_t generation_after(std::uint32_t last) noexcept {
        if (secret_ == 0) {
            return last + 1 != 0 ? last + 1 : 1;
        }
        // The output step of splitmix64 (S. Vigna).
        std::uint64_t z = secret_ + ++drawn_ * 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        const auto drawn = static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
        return drawn != 0 && drawn != last ? drawn : last + 1 != 0 ? last + 1 : 1;
    }
    std::vector<Entry> entries_;
    std::uint32_t free_ = kNone;
    std::size_t used_ = 0;
    std::uint64_t secret_;
    std::uint64_t drawn_ = 0;
};

}  // namespace beeline::engine
