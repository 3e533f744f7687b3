// SPDX-License-Identifier: BSD-3-Clause
// MPI's matching of arrived messages with posted receives, for one communicator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "match/keyed_queues.hpp"

namespace beeline::match {

/// A receive with this source takes a message from any rank.
inline constexpr std::int32_t kAnySource = -1;
/// A receive with this tag takes every tag that is not negative: negative ones belong to the
/// library's own traffic and are matched only when named.
inline constexpr std::int32_t kAnyTag = INT32_MIN;

/// Base class of a receive request. `source` and `tag`, wildcards allowed, are set before post().
struct Posted : QueueNode {
 private:
    friend class Matcher;
    std::uint64_t stamp_ = 0;  // order of posting
};

/// Base class of an arrived message. `source` (a rank) and `tag` (no wildcard) are set before
/// add_unexpected().
struct Unexpected : QueueNode, ListNode<> {};

/// The two queues of a communicator. Messages of one source must be handed over in the order they
/// were sent (see Sequencer). Pure: no clock, threads or I/O; one caller at a time. Owns no request
/// and no message.
///
/// Cost: arrive(), add_unexpected(), extract(), cancel(), and post() and probe() without a wildcard
/// take constant time however deep the queues are. post() and probe() with a wildcard walk the
/// unexpected messages from the oldest to the one they take.
class Matcher {
 public:
    Matcher() noexcept = default;
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    /// A message from `source` with `tag` is here: the receive posted first of those that accept
    /// it, removed from the queue; null when there is none, and then add_unexpected() must follow.
    Posted* arrive(std::int32_t source, std::int32_t tag) noexcept;

    /// Keeps a message that no posted receive accepts.
    void add_unexpected(Unexpected* message) noexcept;

    /// The oldest unexpected message that `receive` accepts, removed from the queue. When there is
    /// none, the receive is queued and null returned.
    Unexpected* post(Posted* receive) noexcept;

    /// The oldest unexpected message that a receive with this source and tag would take, left in
    /// place.
    Unexpected* probe(std::int32_t source, std::int32_t tag) noexcept;

    /// Takes an unexpected message out: after a matched probe, or to drop it.
    void extract(Unexpected* message) noexcept;

    /// Takes a posted receive out; false when it is not queued (matched already, or never posted).
    bool cancel(Posted* receive) noexcept;

    bool empty() const noexcept { return posted_count() == 0 && unexpected_count_ == 0; }
    std::size_t posted_count() const noexcept { return exact_count_ + wildcard_count_; }
    std::size_t unexpected_count() const noexcept { return unexpected_count_; }

    /// The message that arrived first of all, negative tags included; null when there is none.
    Unexpected* oldest_unexpected() noexcept { return arrivals_.front(); }

    /// Calls visit(const Posted&) for every queued receive, in no particular order. For dumps.
    template <class Visit>
    void for_each_posted(Visit&& visit) const {
        posted_.for_each(
            [&visit](const QueueNode& node) { visit(static_cast<const Posted&>(node)); });
    }

    /// Calls visit(Unexpected&) for every unexpected message in the order of arrival; `visit` may
    /// extract it.
    template <class Visit>
    void for_each_unexpected(Visit&& visit) {
        for (Unexpected* message = arrivals_.front(); message != nullptr;) {
            Unexpected* following = arrivals_.after(message);
            visit(*message);
            message = following;
        }
    }

 private:
    static bool has_wildcard(std::int32_t source, std::int32_t tag) noexcept {
        return source == kAnySource || tag == kAnyTag;
    }
    void unqueue(Posted* receive) noexcept;
    Posted* older_wildcard(std::int32_t source, std::int32_t tag, Posted* oldest) const noexcept;
    Unexpected* probe_wildcard(std::int32_t source, std::int32_t tag) noexcept;

    KeyedQueues posted_;  // a wildcard is a key like any other
    KeyedQueues unexpected_;
    List<Unexpected> arrivals_;
    std::uint64_t next_stamp_ = 0;
    std::size_t exact_count_ = 0;     // posted receives without a wildcard
    std::size_t wildcard_count_ = 0;  // and with one
    std::size_t unexpected_count_ = 0;
};

inline Posted* Matcher::arrive(std::int32_t source, std::int32_t tag) noexcept {
    Posted* oldest = nullptr;
    if (exact_count_ != 0) {
        oldest = static_cast<Posted*>(posted_.find(source, tag));
    }
    if (wildcard_count_ != 0) {
        oldest = older_wildcard(source, tag, oldest);
    }
    if (oldest != nullptr) {
        unqueue(oldest);
    }
    return oldest;
}

inline void Matcher::add_unexpected(Unexpected* message) noexcept {
    unexpected_.append(message);
    arrivals_.push_back(message);
    ++unexpected_count_;
}

inline Unexpected* Matcher::post(Posted* receive) noexcept {
    if (unexpected_count_ != 0) {
        if (Unexpected* message = probe(receive->source, receive->tag)) {
            extract(message);
            return message;
        }
    }
    receive->stamp_ = next_stamp_++;
    posted_.append(receive);
    ++(has_wildcard(receive->source, receive->tag) ? wildcard_count_ : exact_count_);
    return nullptr;
}

inline Unexpected* Matcher::probe(std::int32_t source, std::int32_t tag) noexcept {
    if (unexpected_count_ == 0) {
        return nullptr;
    }
    return has_wildcard(source, tag) ? probe_wildcard(source, tag)
                                     : static_cast<Unexpected*>(unexpected_.find(source, tag));
}

inline void Matcher::extract(Unexpected* message) noexcept {
    unexpected_.remove(message);
    List<Unexpected>::remove(message);
    --unexpected_count_;
}

inline bool Matcher::cancel(Posted* receive) noexcept {
    if (!receive->queued()) {
        return false;
    }
    unqueue(receive);
    return true;
}

inline void Matcher::unqueue(Posted* receive) noexcept {
    posted_.remove(receive);
    --(has_wildcard(receive->source, receive->tag) ? wildcard_count_ : exact_count_);
}

}  // namespace beeline::match
