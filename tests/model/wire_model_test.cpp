// SPDX-License-Identifier: BSD-3-Clause
// The decoders against random, truncated and damaged input that ends at a guard page.
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/guard_page.hpp"
#include "support/uniform.hpp"
#include "wire/codec.hpp"

namespace beeline::wire {
namespace {

std::vector<std::byte> random_bytes(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(*test::uniform(0, 256));
    }
    return bytes;
}

Rts random_rts() {
    Rts rts;
    rts.common.flags = *rc::gen::arbitrary<std::uint16_t>();
    rts.common.context = *rc::gen::arbitrary<std::uint32_t>();
    rts.envelope.source = *test::uniform(0, INT32_MAX);
    rts.envelope.tag = *test::uniform(-1000, INT32_MAX);
    rts.envelope.sequence = *rc::gen::arbitrary<std::uint32_t>();
    rts.envelope.bytes = *test::uniform<std::uint64_t>(0, kMaxMessageBytes);
    rts.envelope.sender_request = *rc::gen::arbitrary<std::uint64_t>();
    rts.offer_count = static_cast<std::uint8_t>(*test::uniform<std::size_t>(0, kMaxOffers + 1));
    for (std::size_t index = 0; index < rts.offer_count; ++index) {
        Offer& offer = rts.offers[index];
        const int kind = *test::uniform(0, 4);
        if (kind == 3) {
            offer.type = OfferType::kRdma;
            offer.rdma.address = *test::uniform<std::uint64_t>(0, UINT64_MAX - kMaxMessageBytes);
            offer.rdma.keys[0] = *rc::gen::arbitrary<std::uint32_t>();
            offer.rdma.rails = static_cast<std::uint8_t>(*test::uniform(1, 1 << kMaxRails));
        } else if (kind != 0) {
            const auto content = random_bytes(sizeof offer.ipc);
            offer.type = *rc::gen::element(OfferType::kIpc, OfferType::kVmm, OfferType::kPool,
                                           OfferType::kBounce);
            std::memcpy(&offer.ipc, content.data(), sizeof offer.ipc);
            offer.ipc.offset = *test::uniform<std::uint64_t>(0, kMaxMessageBytes);
            offer.ipc.allocation_bytes = offer.ipc.offset + rts.envelope.bytes +
                                         *test::uniform<std::uint64_t>(1, kMaxMessageBytes);
            offer.ipc.detail = *test::uniform<std::uint64_t>(
                1, std::min<std::uint64_t>(kMaxParts, offer.ipc.allocation_bytes) + 1);
        } else {
            offer.type = OfferType::kStaged;
            offer.staged.chunk_bytes = *test::uniform<std::uint32_t>(1, kMaxChunkBytes + 1);
        }
    }
    return rts;
}

std::vector<std::byte> encoded(const Rts& rts) {
    std::vector<std::byte> bytes(kMaxRtsBytes);
    bytes.resize(encode(rts, bytes));
    RC_ASSERT(!bytes.empty());
    return bytes;
}

/// Whatever the decoder lets through keeps every promise its users build on.
void check_sound(const Envelope& envelope) {
    RC_ASSERT(envelope.source >= 0);
    RC_ASSERT(envelope.tag != INT32_MIN);
    RC_ASSERT(envelope.bytes <= kMaxMessageBytes);
}

void check_sound(const Rts& rts) {
    RC_ASSERT(rts.common.type == MessageType::kRts && rts.common.version == kVersion);
    check_sound(rts.envelope);
    RC_ASSERT(rts.offer_count <= kMaxOffers);
    for (std::size_t index = 0; index < rts.offer_count; ++index) {
        const Offer& offer = rts.offers[index];
        RC_ASSERT(is_device_offer(offer.type) || offer.type == OfferType::kStaged ||
                  offer.type == OfferType::kPut || offer.type == OfferType::kRdma ||
                  offer.type == OfferType::kShm || offer.type == OfferType::kPush);
        if (offer.type == OfferType::kRdma) {
            RC_ASSERT((offer.rdma.rails | offer.rdma.relays) != 0 &&
                      offer.rdma.rails < 1U << kMaxRails);
            RC_ASSERT(offer.rdma.address + rts.envelope.bytes >= offer.rdma.address);
        } else if (offer.type == OfferType::kBounce) {
            RC_ASSERT(offer.ipc.detail >= 1 && offer.ipc.detail <= kMaxChunkBytes);
            RC_ASSERT(offer.ipc.detail <= offer.ipc.allocation_bytes);
        } else if (is_device_offer(offer.type)) {
            RC_ASSERT(offer.type != OfferType::kVmm ||
                      (offer.ipc.detail >= 1 && offer.ipc.detail <= kMaxParts));
            RC_ASSERT(offer.ipc.offset <= offer.ipc.allocation_bytes);
            RC_ASSERT(rts.envelope.bytes <= offer.ipc.allocation_bytes - offer.ipc.offset);
        } else if (offer.type == OfferType::kStaged) {
            RC_ASSERT(offer.staged.chunk_bytes >= 1 && offer.staged.chunk_bytes <= kMaxChunkBytes);
        }
    }
}

template <class X>
bool try_fixed(std::span<const std::byte> in) {
    X message;
    const bool decoded = decode(in, message);
    if (decoded) {
        RC_ASSERT(message.common.type == X::kType);
        RC_ASSERT(in.size() >= sizeof message);
        RC_ASSERT(std::memcmp(&message, in.data(), sizeof message) == 0);
    }
    return decoded;
}

/// Feeds `in` to every decoder; at most the one that peek() names may take it.
void decode_all(std::span<const std::byte> in) {
    Rts rts;
    const bool is_rts = decode(in, rts);
    if (is_rts) {
        check_sound(rts);
    }
    const int takers =
        static_cast<int>(is_rts) + try_fixed<Eager>(in) + try_fixed<Cts>(in) + try_fixed<Data>(in) +
        try_fixed<DataAck>(in) + try_fixed<Fin>(in) + try_fixed<Ack>(in) + try_fixed<Nack>(in) +
        try_fixed<Freed>(in) + try_fixed<Want>(in) + try_fixed<Descriptors>(in) +
        try_fixed<Put>(in) + try_fixed<PutDone>(in) + try_fixed<RdmaConnect>(in) +
        try_fixed<RdmaRails>(in) + try_fixed<RdmaPut>(in) + try_fixed<RdmaFailed>(in);
    RC_ASSERT(takers <= (peek(in) == MessageType::kNone ? 0 : 1));
}

RC_GTEST_PROP(WireModel, RandomBytesAreNeverReadBeyondTheirEnd, ()) {
    test::GuardPage guard(1024);
    auto bytes = random_bytes(*test::uniform<std::size_t>(0, 200));
    if (bytes.size() >= 2 &&
        *test::uniform(0, 4) != 0) {  // else hardly anything gets past the start
        bytes[0] = static_cast<std::byte>(*test::uniform(0, 18));
        bytes[1] = static_cast<std::byte>(kVersion);
    }
    if (bytes.size() > 40 && *rc::gen::arbitrary<bool>()) {  // a plausible envelope, random offers
        const Eager plain;
        std::memcpy(bytes.data() + 8, &plain.envelope, sizeof plain.envelope);
        bytes[40] = static_cast<std::byte>(*test::uniform(0, 6));
        if (bytes.size() > 42) {
            bytes[41] = static_cast<std::byte>(*test::uniform(0, 8));
        }
    }
    decode_all(guard.copy(bytes));
}

RC_GTEST_PROP(WireModel, RtsComesBackAsItWent, ()) {
    test::GuardPage guard(kMaxRtsBytes);
    const auto bytes = encoded(random_rts());
    Rts back;
    std::size_t length = 0;
    RC_ASSERT(decode(guard.copy(bytes), back, &length));
    RC_ASSERT(length == bytes.size());
    check_sound(back);
    RC_ASSERT(encoded(back) == bytes);
}

RC_GTEST_PROP(WireModel, ATruncatedRtsIsRefused, ()) {
    test::GuardPage guard(kMaxRtsBytes);
    const auto bytes = encoded(random_rts());
    const auto length = *test::uniform<std::size_t>(0, bytes.size());
    Rts back;
    RC_ASSERT(!decode(guard.copy(std::span(bytes).first(length)), back));
}

RC_GTEST_PROP(WireModel, DamagedBitsAreRefusedOrHarmless, ()) {
    test::GuardPage guard(kMaxRtsBytes);
    auto bytes = encoded(random_rts());
    const auto flips = *test::uniform(1, 5);
    for (int flip = 0; flip < flips; ++flip) {
        // Mostly where the structure is: the first header bytes, the count, types and lengths.
        const auto reach =
            *rc::gen::arbitrary<bool>() ? bytes.size() : std::min<std::size_t>(bytes.size(), 43);
        const auto at = *test::uniform<std::size_t>(0, reach);
        bytes[at] ^= static_cast<std::byte>(1 << *test::uniform(0, 8));
    }
    decode_all(guard.copy(bytes));
}

RC_GTEST_PROP(WireModel, FixedMessagesSurviveDamage, ()) {
    test::GuardPage guard(256);
    const auto type = *test::uniform(1, 18);
    auto bytes = random_bytes(*rc::gen::element<std::size_t>(16, 24, 32, 40, 48, 64, 168));
    for (std::size_t at = 2; at < bytes.size(); ++at) {
        if (*test::uniform(0, 3) != 0) {
            bytes[at] = std::byte{0};  // small numbers pass more checks
        }
    }
    bytes[0] = static_cast<std::byte>(type);
    bytes[1] = static_cast<std::byte>(kVersion);
    decode_all(guard.copy(bytes));
}

}  // namespace
}  // namespace beeline::wire
