// SPDX-License-Identifier: BSD-3-Clause
// The growth of the table.
#include "match/keyed_queues.hpp"

#include <new>

namespace beeline::match {
namespace {
constexpr unsigned kFirstBits = 4;
constexpr unsigned kMaxBits = 24;
}  // namespace

KeyedQueues::~KeyedQueues() {
    if (buckets_ != &single_) {
        delete[] buckets_;
    }
}

void KeyedQueues::grow() noexcept {
    const unsigned bits = bits_ == 0 ? kFirstBits : bits_ + 1;
    if (bits > kMaxBits) {
        return;
    }
    auto** larger = new (std::nothrow) QueueNode* [std::size_t{1} << bits] {};
    if (larger == nullptr) {
        return;
    }
    QueueNode** smaller = buckets_;
    const std::size_t count = bucket_count();
    buckets_ = larger;
    bits_ = bits;
    for (std::size_t bucket = 0; bucket < count; ++bucket) {
        while (QueueNode* head = smaller[bucket]) {
            take_down(head);
            hang(head, &buckets_[bucket_of(head->source, head->tag)]);
        }
    }
    if (smaller != &single_) {
        delete[] smaller;
    }
}

}  // namespace beeline::match
