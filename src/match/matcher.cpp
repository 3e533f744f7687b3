// SPDX-License-Identifier: BSD-3-Clause
// The part of matching that has to do with wildcards.
#include "match/matcher.hpp"

namespace beeline::match {

Posted* Matcher::older_wildcard(std::int32_t source, std::int32_t tag,
                                Posted* oldest) const noexcept {
    const auto consider = [&](std::int32_t posted_source, std::int32_t posted_tag) {
        auto* candidate = static_cast<Posted*>(posted_.find(posted_source, posted_tag));
        if (candidate != nullptr && (oldest == nullptr || candidate->stamp_ < oldest->stamp_)) {
            oldest = candidate;
        }
    };
    consider(kAnySource, tag);
    if (tag >= 0) {
        consider(source, kAnyTag);
        consider(kAnySource, kAnyTag);
    }
    return oldest;
}

Unexpected* Matcher::probe_wildcard(std::int32_t source, std::int32_t tag) noexcept {
    const auto accepts = [&](const Unexpected& message) {
        return (source == kAnySource || source == message.source) &&
               (tag == kAnyTag ? message.tag >= 0 : tag == message.tag);
    };
    Unexpected* message = arrivals_.front();
    while (message != nullptr && !accepts(*message)) {
        message = arrivals_.after(message);
    }
    return message;
}

}  // namespace beeline::match
