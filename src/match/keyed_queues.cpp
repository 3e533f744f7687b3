// SPDX-License-Identifier: BSD-3-Clause
// Linking and unlinking of nodes, and the growth of the table.
#include "match/keyed_queues.hpp"

#include <cassert>
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

void KeyedQueues::append(QueueNode* node) noexcept {
    assert(!node->queued());
    QueueNode* head = find(node->source, node->tag);
    if (head != nullptr) {
        node->next_ = head;
        node->previous_ = head->previous_;
        head->previous_->next_ = node;
        head->previous_ = node;
        return;
    }
    if (keys_ >= bucket_count()) {
        grow();
    }
    node->next_ = node->previous_ = node;
    hang(node, &buckets_[bucket_of(node->source, node->tag)]);
    ++keys_;
}

void KeyedQueues::remove(QueueNode* node) noexcept {
    assert(node->queued());
    QueueNode* heir = node->next_;
    const bool last = heir == node;
    if (node->chain_link_ != nullptr) {
        QueueNode** link = node->chain_link_;
        take_down(node);
        if (last) {
            --keys_;
        } else {
            hang(heir, link);
        }
    }
    node->previous_->next_ = node->next_;
    node->next_->previous_ = node->previous_;
    node->next_ = node->previous_ = nullptr;
}

/// Inserts `head` in the bucket's chain before what `link` points to.
void KeyedQueues::hang(QueueNode* head, QueueNode** link) noexcept {
    head->chain_ = *link;
    head->chain_link_ = link;
    if (head->chain_ != nullptr) {
        head->chain_->chain_link_ = &head->chain_;
    }
    *link = head;
}

void KeyedQueues::take_down(QueueNode* head) noexcept {
    *head->chain_link_ = head->chain_;
    if (head->chain_ != nullptr) {
        head->chain_->chain_link_ = head->chain_link_;
    }
    head->chain_ = nullptr;
    head->chain_link_ = nullptr;
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
