// SPDX-License-Identifier: BSD-3-Clause
// Queues of intrusive nodes, one for each (source, tag), in a hash table of queue heads.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace beeline::match {

/// What a node needs to be in a queue. `source` and `tag` are its key: set before it is queued,
/// constant until it has left.
struct QueueNode {
    std::int32_t source = 0;
    std::int32_t tag = 0;

    /// True while the node is in a queue.
    bool queued() const noexcept { return next_ != nullptr; }

 private:
    friend class KeyedQueues;
    QueueNode* next_ = nullptr;      // ring of the nodes with this key, oldest first
    QueueNode* previous_ = nullptr;  //
    QueueNode* chain_ = nullptr;     // oldest node of the next key in the same bucket
    QueueNode** chain_link_ =
        nullptr;  // the pointer that leads here; null unless oldest of its key
};

/// First-in first-out queues by key. Only the oldest node of a key hangs in a bucket, so the time
/// of every call depends on neither the length of a queue nor (on average) the number of keys. Owns
/// no node. The table is one bucket inside the object until a second key appears; where memory for
/// a larger table is refused, the old one goes on, slower.
class KeyedQueues {
 public:
    KeyedQueues() noexcept = default;
    ~KeyedQueues();
    KeyedQueues(const KeyedQueues&) = delete;
    KeyedQueues& operator=(const KeyedQueues&) = delete;

    /// The oldest node with exactly this key, left in place; null when there is none.
    QueueNode* find(std::int32_t source, std::int32_t tag) const noexcept {
        QueueNode* node = buckets_[bucket_of(source, tag)];
        while (node != nullptr && (node->source != source || node->tag != tag)) {
            node = node->chain_;
        }
        return node;
    }

    /// Makes `node` (not queued) the youngest of its key.
    void append(QueueNode* node) noexcept;

    /// Takes `node` (queued here) out, wherever in its queue it is.
    void remove(QueueNode* node) noexcept;

    /// Calls visit(const QueueNode&) for every node; oldest first within a key, keys in no
    /// particular order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t bucket = 0; bucket < bucket_count(); ++bucket) {
            for (const QueueNode* head = buckets_[bucket]; head != nullptr; head = head->chain_) {
                const QueueNode* node = head;
                do {
                    visit(*node);
                    node = node->next_;
                } while (node != head);
            }
        }
    }

    /// Distinct keys queued now.
    std::size_t keys() const noexcept { return keys_; }
    std::size_t bucket_count() const noexcept { return std::size_t{1} << bits_; }

 private:
    /// Ranks and tags are small dense numbers: multiplying by the two fractions of the plastic
    /// number spreads every grid of them evenly over the top bits (M. Roberts, "The unreasonable
    /// effectiveness of quasirandom sequences", 2018).
    std::size_t bucket_of(std::int32_t source, std::int32_t tag) const noexcept {
        const std::uint64_t hash =
            static_cast<std::uint32_t>(source) * std::uint64_t{0xC13FA9A902A6328F} +
            static_cast<std::uint32_t>(tag) * std::uint64_t{0x91E10DA5C79E7B1D};
        return static_cast<std::size_t>((hash >> 1) >> (63 - bits_));
    }
    static void hang(QueueNode* head, QueueNode** link) noexcept;
    static void take_down(QueueNode* head) noexcept;
    void grow() noexcept;

    QueueNode* single_ = nullptr;
    QueueNode** buckets_ = &single_;
    std::size_t keys_ = 0;
    unsigned bits_ = 0;  // log2 of the number of buckets
};

inline void KeyedQueues::append(QueueNode* node) noexcept {
    assert(!node->queued());
    QueueNode* head = find(node->source, node->tag);
    if (head != nullptr) {
        QueueNode* youngest = head->previous_;
        node->next_ = head;
        node->previous_ = youngest;
        youngest->next_ = node;
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

inline void KeyedQueues::remove(QueueNode* node) noexcept {
    assert(node->queued());
    QueueNode* heir = node->next_;
    if (node->chain_link_ != nullptr) {
        if (heir == node) {
            --keys_;
            take_down(node);
        } else {
            // The heir takes the place in the chain.
            heir->chain_ = node->chain_;
            heir->chain_link_ = node->chain_link_;
            *heir->chain_link_ = heir;
            if (heir->chain_ != nullptr) {
                heir->chain_->chain_link_ = &heir->chain_;
            }
            node->chain_ = nullptr;
            node->chain_link_ = nullptr;
        }
    }
    node->previous_->next_ = heir;
    heir->previous_ = node->previous_;
    node->next_ = node->previous_ = nullptr;
}

/// Inserts `head` in the bucket's chain before what `link` points to.
inline void KeyedQueues::hang(QueueNode* head, QueueNode** link) noexcept {
    head->chain_ = *link;
    head->chain_link_ = link;
    if (head->chain_ != nullptr) {
        head->chain_->chain_link_ = &head->chain_;
    }
    *link = head;
}

inline void KeyedQueues::take_down(QueueNode* head) noexcept {
    *head->chain_link_ = head->chain_;
    if (head->chain_ != nullptr) {
        head->chain_->chain_link_ = head->chain_link_;
    }
    head->chain_ = nullptr;
    head->chain_link_ = nullptr;
}

}  // namespace beeline::match
