// SPDX-License-Identifier: BSD-3-Clause
// Headers to bytes and back. A decoder believes nothing: what it cannot vouch for, it refuses.
#pragma once

#include <climits>
#include <cstring>
#include <span>

#include "wire/headers.hpp"

namespace beeline::wire {

/// The type of the message that starts here; kNone when the bytes are too few, of another version,
/// or of a type this version does not know.
inline MessageType peek(std::span<const std::byte> in) noexcept {
    if (in.size() < sizeof(Common) || std::to_integer<std::uint8_t>(in[1]) != kVersion) {
        return MessageType::kNone;
    }
    const auto type = std::to_integer<std::uint8_t>(in[0]);
    return type <= static_cast<std::uint8_t>(MessageType::kRdmaFailed) ? MessageType{type}
                                                                       : MessageType::kNone;
}

namespace detail {

inline bool sound(const Envelope& envelope) noexcept {
    return envelope.source >= 0 && envelope.tag != INT_MIN && envelope.bytes <= kMaxMessageBytes;
}
inline bool sound(const Eager& message) noexcept {
    return sound(message.envelope);
}
inline bool sound(const Cts& message) noexcept {
    return (message.choice == OfferType::kStaged || message.choice == OfferType::kBounce ||
            message.choice == OfferType::kUcx || message.choice == OfferType::kShm) &&
           message.bytes <= kMaxMessageBytes && message.chunk_bytes != 0 &&
           message.chunk_bytes <= kMaxChunkBytes && message.depth != 0 &&
           message.depth <= kMaxDepth;
}
inline bool sound(const Data& message) noexcept {
    return message.length <= kMaxChunkBytes && message.offset <= kMaxMessageBytes - message.length;
}
inline bool sound(const DataAck& message) noexcept {
    return message.offset <= kMaxMessageBytes;
}
inline bool sound(const Fin&) noexcept {
    return true;
}
inline bool sound(const Ack&) noexcept {
    return true;
}
inline bool sound(const Nack& message) noexcept {
    return is_device_offer(message.offer) || message.offer == OfferType::kStaged ||
           message.offer == OfferType::kPut || message.offer == OfferType::kRdma;
}
inline bool sound(const Freed&) noexcept {
    return true;
}
inline bool sound(const Want& message) noexcept {
    return message.offer == OfferType::kVmm || message.offer == OfferType::kPool;
}
inline bool sound(const Descriptors&) noexcept {
    return true;
}
/// The range lies within the allocation, and only device memory has been refused.
inline bool sound(const Put& message) noexcept {
    for (const Put::Refusal& refused : message.refused) {
        if (refused.offer != OfferType::kNone && !is_device_offer(refused.offer)) {
            return false;
        }
    }
    return message.bytes != 0 && message.bytes <= kMaxMessageBytes &&
           message.into.offset <= message.into.allocation_bytes &&
           message.bytes <= message.into.allocation_bytes - message.into.offset;
}
inline bool sound(const PutDone&) noexcept {
    return true;
}
inline constexpr std::uint8_t kRailBits = (1U << kMaxRails) - 1;
inline bool sound(const RailEnd& end) noexcept {
    for (const std::uint32_t number : end.queue_pairs) {
        if (number >= 1U << 24) {
            return false;
        }
    }
    return end.queue_pairs[0] == 0 || (end.sequence < (1U << 24) && end.mtu >= 1 && end.mtu <= 5);
}
/// An end has an epoch and at least one rail; a refusal has neither.
inline bool sound(const RdmaConnect& message) noexcept {
    bool any = false;
    for (const RailEnd& end : message.ends) {
        if (!sound(end)) {
            return false;
        }
        any = any || end.queue_pairs[0] != 0;
    }
    return message.status != 0 ? !any : any && message.epoch != 0;
}
inline bool sound(const RdmaRails& message) noexcept {
    return ((message.tested | message.broken | message.closed) & ~kRailBits) == 0 &&
           message.epoch != 0;
}
/// Some rail is to be used, and no byte beyond the end of the address space.
inline bool sound(const RdmaPut& message) noexcept {
    return message.bytes != 0 && message.bytes <= kMaxMessageBytes &&
           message.address <= UINT64_MAX - message.bytes && message.rails != 0 &&
           (message.rails & ~kRailBits) == 0;
}
inline bool sound(const RdmaFailed&) noexcept {
    return true;
}

}  // namespace detail

/// Writes a message to the start of `out`; the bytes written, or 0 when it does not fit.
template <FixedMessage X>
std::size_t encode(const X& message, std::span<std::byte> out) noexcept {
    if (out.size() < sizeof message) {
        return 0;
    }
    std::memcpy(out.data(), &message, sizeof message);
    return sizeof message;
}

/// Reads a message from the start of `in` (what follows it is not looked at). False, with `out` in
/// an unspecified but valid state, when `in` is too short, holds another type or version, or a
/// field breaks a limit.
template <FixedMessage X>
bool decode(std::span<const std::byte> in, X& out) noexcept {
    if (in.size() < sizeof out || peek(in) != X::kType) {
        return false;
    }
    std::memcpy(&out, in.data(), sizeof out);
    return detail::sound(out);
}

/// As above. Also 0 when there are more than kMaxOffers offers or one of a type this version does
/// not write.
std::size_t encode(const Rts& message, std::span<std::byte> out) noexcept;

/// As above. Offers of unknown types are skipped, so `out` may hold fewer than were sent. An IPC
/// offer is sound only when the whole message lies within the allocation. `encoded`, when not null,
/// receives the length of the encoding.
bool decode(std::span<const std::byte> in, Rts& out, std::size_t* encoded = nullptr) noexcept;

}  // namespace beeline::wire
