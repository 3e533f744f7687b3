// SPDX-License-Identifier: BSD-3-Clause
// Looking up in the queues, and choosing by age among exact and wildcard receives.
#include "match/matcher.hpp"

namespace beeline::match {
namespace {

bool has_wildcard(std::int32_t source, std::int32_t tag) noexcept {
    return source == kAnySource || tag == kAnyTag;
}

bool accepts(std::int32_t source, std::int32_t tag, const Unexpected& message) noexcept {
    return (source == kAnySource || source == message.source) &&
           (tag == kAnyTag ? message.tag >= 0 : tag == message.tag);
}

}  // namespace

Posted* Matcher::arrive(std::int32_t source, std::int32_t tag) noexcept {
    Posted* oldest = nullptr;
    const auto consider = [&](std::int32_t posted_source, std::int32_t posted_tag) {
        auto* candidate = static_cast<Posted*>(posted_.find(posted_source, posted_tag));
        if (candidate != nullptr && (oldest == nullptr || candidate->stamp_ < oldest->stamp_)) {
            oldest = candidate;
        }
    };
    if (exact_count_ != 0) {
        consider(source, tag);
    }
    if (wildcard_count_ != 0) {
        consider(kAnySource, tag);
        if (tag >= 0) {
            consider(source, kAnyTag);
            consider(kAnySource, kAnyTag);
        }
    }
    if (oldest != nullptr) {
        unqueue(oldest);
    }
    return oldest;
}

void Matcher::add_unexpected(Unexpected* message) noexcept {
    unexpected_.append(message);
    arrivals_.push_back(message);
    ++unexpected_count_;
}

Unexpected* Matcher::post(Posted* receive) noexcept {
    Unexpected* message = probe(receive->source, receive->tag);
    if (message != nullptr) {
        extract(message);
        return message;
    }
    receive->stamp_ = next_stamp_++;
    posted_.append(receive);
    ++(has_wildcard(receive->source, receive->tag) ? wildcard_count_ : exact_count_);
    return nullptr;
}

Unexpected* Matcher::probe(std::int32_t source, std::int32_t tag) noexcept {
    if (unexpected_count_ == 0) {
        return nullptr;
    }
    if (!has_wildcard(source, tag)) {
        return static_cast<Unexpected*>(unexpected_.find(source, tag));
    }
    Unexpected* message = arrivals_.front();
    while (message != nullptr && !accepts(source, tag, *message)) {
        message = arrivals_.after(message);
    }
    return message;
}

void Matcher::extract(Unexpected* message) noexcept {
    unexpected_.remove(message);
    List<Unexpected>::remove(message);
    --unexpected_count_;
}

bool Matcher::cancel(Posted* receive) noexcept {
    if (!receive->queued()) {
        return false;
    }
    unqueue(receive);
    return true;
}

void Matcher::unqueue(Posted* receive) noexcept {
    posted_.remove(receive);
    --(has_wildcard(receive->source, receive->tag) ? wildcard_count_ : exact_count_);
}

}  // namespace beeline::match
