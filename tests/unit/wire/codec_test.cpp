// SPDX-License-Identifier: BSD-3-Clause
// Headers: round trips, the bytes themselves, and everything a decoder must refuse.
#include "wire/codec.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "support/guard_page.hpp"

namespace beeline::wire {
namespace {

constexpr std::uint64_t kId = 0x1122334455667788;

template <class X>
std::vector<std::byte> encoded(const X& message) {
    std::vector<std::byte> bytes(kMaxRtsBytes);
    bytes.resize(encode(message, bytes));
    EXPECT_FALSE(bytes.empty());
    return bytes;
}

Rts sample_rts() {
    Rts rts;
    rts.common.flags = kSync;
    rts.common.context = 77;
    rts.envelope = Envelope{3, -9, 5, 0, 4096, kId};
    rts.offers[0].type = OfferType::kIpc;
    rts.offers[0].ipc.handle.fill(std::byte{0xAB});
    rts.offers[0].ipc.base = 0x7f0000000000;
    rts.offers[0].ipc.offset = 512;
    rts.offers[0].ipc.allocation_bytes = 1 << 20;
    rts.offers[0].ipc.buffer_id = 99;
    rts.offers[0].ipc.device_uuid.fill(std::byte{0xCD});
    rts.offers[1].type = OfferType::kStaged;
    rts.offers[1].staged.chunk_bytes = 65536;
    rts.offer_count = 2;
    return rts;
}

Cts sample_cts() {
    Cts cts;
    cts.bytes = 4096;
    cts.chunk_bytes = 1024;
    cts.depth = 4;
    cts.choice = OfferType::kStaged;
    return cts;
}

TEST(Codec, TheBytesOfAnEagerHeader) {
    Eager eager;
    eager.common.flags = kSync;
    eager.common.context = 0x01020304;
    eager.envelope = Envelope{2, -1, 0x0A0B0C0D, 0, 0x10, kId};
    const unsigned char expected[40] = {
        1,    7,    1,    0,    4,    3,    2,    1,     // common
        2,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF,  // source, tag
        0x0D, 0x0C, 0x0B, 0x0A, 0,    0,    0,    0,     // sequence
        0x10, 0,    0,    0,    0,    0,    0,    0,     // bytes
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    const auto bytes = encoded(eager);
    ASSERT_EQ(bytes.size(), sizeof expected);
    EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);
}

template <class X>
class FixedCodec : public testing::Test {};
using FixedMessages =
    testing::Types<Eager, Cts, Data, DataAck, Fin, Ack, Nack, Freed, Want, Descriptors>;
TYPED_TEST_SUITE(FixedCodec, FixedMessages);

template <class X>
X sample() {
    X message;
    message.common.context = 0xC0FFEE;
    if constexpr (std::is_same_v<X, Cts>) {
        message = sample_cts();
    } else if constexpr (std::is_same_v<X, Nack>) {
        message.offer = OfferType::kIpc;
    } else if constexpr (std::is_same_v<X, Want>) {
        message.offer = OfferType::kVmm;
    }
    return message;
}

TYPED_TEST(FixedCodec, ComesBackAsItWent) {
    const auto message = sample<TypeParam>();
    const auto bytes = encoded(message);
    EXPECT_EQ(peek(bytes), TypeParam::kType);
    TypeParam back;
    back.common.context = 1;
    ASSERT_TRUE(decode(bytes, back));
    EXPECT_EQ(std::memcmp(&back, &message, sizeof message), 0);
}

TYPED_TEST(FixedCodec, NeedsRoomAndAllItsBytes) {
    const auto message = sample<TypeParam>();
    const auto bytes = encoded(message);
    test::GuardPage guard(sizeof message);
    for (std::size_t length = 0; length < sizeof message; ++length) {
        EXPECT_EQ(encode(message, guard.tail(length)), 0u);
        TypeParam back;
        EXPECT_FALSE(decode(guard.copy(std::span(bytes).first(length)), back)) << length;
    }
    TypeParam back;
    EXPECT_EQ(encode(message, guard.tail(sizeof message)), sizeof message);
    EXPECT_TRUE(decode(guard.tail(sizeof message), back));
}

TYPED_TEST(FixedCodec, RefusesOtherTypesAndVersions) {
    auto bytes = encoded(sample<TypeParam>());
    TypeParam back;
    for (int type = 0; type < 256; ++type) {
        bytes[0] = static_cast<std::byte>(type);
        EXPECT_EQ(decode(bytes, back), type == static_cast<int>(TypeParam::kType)) << type;
    }
    bytes[0] = static_cast<std::byte>(TypeParam::kType);
    for (int version = 0; version < 256; ++version) {
        bytes[1] = static_cast<std::byte>(version);
        EXPECT_EQ(decode(bytes, back), version == kVersion) << version;
    }
}

TEST(Codec, PeekKnowsTheTypesOfThisVersion) {
    std::vector<std::byte> bytes(sizeof(Common));
    bytes[1] = static_cast<std::byte>(kVersion);
    for (int type = 0; type < 256; ++type) {
        bytes[0] = static_cast<std::byte>(type);
        EXPECT_EQ(peek(bytes), type <= 17 ? static_cast<MessageType>(type) : MessageType::kNone);
    }
    bytes[0] = std::byte{1};
    EXPECT_EQ(peek(std::span(bytes).first(7)), MessageType::kNone);
    EXPECT_EQ(peek({}), MessageType::kNone);
}

TEST(Codec, DeviceOffersOutOfBoundsAreRefused) {
    const auto refused = [](OfferType type, std::uint64_t offset, std::uint64_t allocation,
                            std::uint64_t detail) {
        Rts rts;
        rts.envelope.bytes = 100;
        rts.offer_count = 1;
        rts.offers[0].type = type;
        rts.offers[0].ipc.offset = offset;
        rts.offers[0].ipc.allocation_bytes = allocation;
        rts.offers[0].ipc.detail = detail;
        std::vector<std::byte> bytes(kMaxRtsBytes);
        bytes.resize(encode(rts, bytes));
        Rts back;
        return !decode(bytes, back);
    };
    for (const OfferType type : {OfferType::kIpc, OfferType::kVmm, OfferType::kPool}) {
        EXPECT_FALSE(refused(type, 4, 104, 1));
        EXPECT_TRUE(refused(type, 5, 104, 1)) << "ends behind the allocation";
        EXPECT_TRUE(refused(type, UINT64_MAX, 104, 1));
    }
    EXPECT_FALSE(refused(OfferType::kVmm, 0, 104, kMaxParts));
    EXPECT_TRUE(refused(OfferType::kVmm, 0, 104, 0)) << "no parts";
    EXPECT_TRUE(refused(OfferType::kVmm, 0, 104, kMaxParts + 1));
    EXPECT_FALSE(refused(OfferType::kBounce, 0, 50, 50)) << "a message passes in many slots";
    EXPECT_TRUE(refused(OfferType::kBounce, 0, 50, 51)) << "a slot that is larger than the buffer";
    EXPECT_TRUE(refused(OfferType::kBounce, 0, 50, 0));
    EXPECT_TRUE(refused(OfferType::kBounce, 0, UINT64_MAX, kMaxChunkBytes + 1ULL));
}

TEST(Codec, EnvelopesOutOfBoundsAreRefused) {
    Eager back;
    Eager eager;
    EXPECT_TRUE(decode(encoded(eager), back));
    eager.envelope.source = -1;
    EXPECT_FALSE(decode(encoded(eager), back));
    eager.envelope.source = 0;
    eager.envelope.tag = INT32_MIN;
    EXPECT_FALSE(decode(encoded(eager), back));
    eager.envelope.tag = INT32_MIN + 1;
    EXPECT_TRUE(decode(encoded(eager), back));
    eager.envelope.bytes = kMaxMessageBytes + 1;
    EXPECT_FALSE(decode(encoded(eager), back));
}

TEST(Codec, CtsOutOfBoundsIsRefused) {
    Cts back;
    const auto refused = [&back](auto change) {
        Cts cts = sample_cts();
        change(cts);
        return !decode(encoded(cts), back);
    };
    EXPECT_FALSE(refused([](Cts&) {}));
    EXPECT_TRUE(refused([](Cts& cts) { cts.bytes = kMaxMessageBytes + 1; }));
    EXPECT_TRUE(refused([](Cts& cts) { cts.chunk_bytes = 0; }));
    EXPECT_TRUE(refused([](Cts& cts) { cts.chunk_bytes = kMaxChunkBytes + 1; }));
    EXPECT_TRUE(refused([](Cts& cts) { cts.depth = 0; }));
    EXPECT_TRUE(refused([](Cts& cts) { cts.depth = kMaxDepth + 1; }));
    EXPECT_FALSE(refused([](Cts& cts) { cts.choice = OfferType::kUcx; }));
    EXPECT_FALSE(refused([](Cts& cts) { cts.choice = OfferType::kShm; }));
    EXPECT_TRUE(refused([](Cts& cts) { cts.choice = OfferType::kIpc; }));
    EXPECT_TRUE(refused([](Cts& cts) { cts.choice = OfferType{200}; }));
}

TEST(Codec, DataOutOfBoundsIsRefused) {
    Data back;
    Data data;
    data.offset = kMaxMessageBytes - 10;
    data.length = 10;
    EXPECT_TRUE(decode(encoded(data), back));
    data.length = 11;
    EXPECT_FALSE(decode(encoded(data), back));
    data.offset = UINT64_MAX;  // offset + length would wrap
    EXPECT_FALSE(decode(encoded(data), back));
    data.offset = 0;
    data.length = kMaxChunkBytes + 1;
    EXPECT_FALSE(decode(encoded(data), back));
    DataAck ack_back;
    DataAck ack;
    ack.offset = kMaxMessageBytes + 1;
    EXPECT_FALSE(decode(encoded(ack), ack_back));
    Nack nack_back;
    EXPECT_FALSE(decode(encoded(Nack{}), nack_back)) << "names no offer";
}

TEST(Codec, APutNamesARangeOfItsAllocation) {
    Put put;
    put.sender_request = kId;
    put.receiver_request = kId + 1;
    put.bytes = 1000;
    put.into.base = 0x7000000000;
    put.into.offset = 24;
    put.into.allocation_bytes = 1024;
    put.into.buffer_id = 5;
    put.refused[0] = {OfferType::kIpc, 1};
    Put back;
    ASSERT_TRUE(decode(encoded(put), back));
    EXPECT_EQ(std::memcmp(&back, &put, sizeof put), 0);
    put.refused[1].offer = OfferType::kStaged;
    EXPECT_FALSE(decode(encoded(put), back)) << "refuses what cannot fail";
    put.refused[1] = {};
    put.bytes = 1001;
    EXPECT_FALSE(decode(encoded(put), back)) << "ends behind the allocation";
    put.bytes = 0;
    EXPECT_FALSE(decode(encoded(put), back)) << "asks for nothing";
    put.bytes = 1;
    put.into.offset = 1025;
    EXPECT_FALSE(decode(encoded(put), back)) << "starts behind it";
    put.bytes = UINT64_MAX - 10;  // offset + bytes would wrap
    put.into.offset = 100;
    EXPECT_FALSE(decode(encoded(put), back));
    PutDone done;
    done.receiver_request = kId;
    PutDone done_back;
    ASSERT_TRUE(decode(encoded(done), done_back));
    EXPECT_EQ(done_back.receiver_request, kId);
}

TEST(Codec, AnRdmaPutNamesRailsAndARange) {
    RdmaPut put;
    put.sender_request = kId;
    put.bytes = 1000;
    put.address = UINT64_MAX - 1000;
    put.rails = 0x9;
    RdmaPut back;
    ASSERT_TRUE(decode(encoded(put), back));
    EXPECT_EQ(std::memcmp(&back, &put, sizeof put), 0);
    ++put.address;
    EXPECT_FALSE(decode(encoded(put), back)) << "ends behind the last address";
    put.address = 0;
    put.rails = 0;
    EXPECT_FALSE(decode(encoded(put), back)) << "by no rail";
    put.rails = 0x10;
    EXPECT_FALSE(decode(encoded(put), back)) << "by a rail that there is not";
    put.rails = 1;
    put.bytes = 0;
    EXPECT_FALSE(decode(encoded(put), back)) << "asks for nothing";
}

TEST(Codec, AnRdmaEndHasQueuePairsOrRefuses) {
    RdmaConnect connect;
    connect.from = kId;
    connect.epoch = 7;
    connect.ends[1].queue_pairs[0] = 0xffffff;
    connect.ends[1].sequence = 0xffffff;
    connect.ends[1].mtu = 3;
    RdmaConnect back;
    ASSERT_TRUE(decode(encoded(connect), back));
    EXPECT_EQ(std::memcmp(&back, &connect, sizeof connect), 0);
    const auto refused = [&](auto change) {
        RdmaConnect changed = connect;
        change(changed);
        return !decode(encoded(changed), back);
    };
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.ends[1].queue_pairs[0] = 0; })) << "no rail";
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.ends[1].queue_pairs[0] = 1 << 24; }));
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.ends[1].sequence = 1 << 24; }));
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.ends[1].mtu = 0; }));
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.ends[1].mtu = 6; }));
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.epoch = 0; }));
    EXPECT_TRUE(refused([](RdmaConnect& it) { it.status = 1; })) << "refuses and connects";
    EXPECT_FALSE(refused([](RdmaConnect& it) {
        it = RdmaConnect{};
        it.status = 1;
    }));
    RdmaRails rails;
    RdmaRails rails_back;
    rails.epoch = 1;
    rails.broken = 0xf;
    EXPECT_TRUE(decode(encoded(rails), rails_back));
    rails.tested = 0x10;
    EXPECT_FALSE(decode(encoded(rails), rails_back));
    rails.tested = 0;
    rails.epoch = 0;
    EXPECT_FALSE(decode(encoded(rails), rails_back));
}

TEST(Codec, AnRdmaOfferLiesInTheAddressSpace) {
    Rts rts = sample_rts();
    rts.offers[0].type = OfferType::kRdma;
    rts.offers[0].rdma.address = UINT64_MAX - rts.envelope.bytes;
    rts.offers[0].rdma.keys = {1, 2, 3, 4};
    rts.offers[0].rdma.rails = 0xf;
    Rts back;
    ASSERT_TRUE(decode(encoded(rts), back));
    ASSERT_EQ(back.offer_count, 2);
    EXPECT_EQ(back.offers[0].type, OfferType::kRdma);
    EXPECT_EQ(back.offers[0].rdma.keys, rts.offers[0].rdma.keys);
    ++rts.offers[0].rdma.address;
    EXPECT_FALSE(decode(encoded(rts), back)) << "ends behind the last address";
    rts.offers[0].rdma.address = 0;
    rts.offers[0].rdma.rails = 0;
    EXPECT_FALSE(decode(encoded(rts), back)) << "no rail";
    rts.offers[0].rdma.rails = 0x10;
    EXPECT_FALSE(decode(encoded(rts), back));
}

TEST(Codec, SomeOffersHaveNoPayload) {
    for (const OfferType type : {OfferType::kPut, OfferType::kShm, OfferType::kPush}) {
        Rts rts = sample_rts();
        rts.offers[1].type = type;
        auto bytes = encoded(rts);
        EXPECT_EQ(bytes.size(), 40u + 1 + 2 + kIpcOfferBytes + 2);
        Rts back;
        ASSERT_TRUE(decode(bytes, back));
        ASSERT_EQ(back.offer_count, 2);
        EXPECT_EQ(back.offers[1].type, type);
        bytes.back() = std::byte{1};
        bytes.push_back(std::byte{0});
        EXPECT_FALSE(decode(bytes, back));
    }
}

TEST(Codec, RtsComesBackWithItsOffers) {
    const Rts rts = sample_rts();
    auto bytes = encoded(rts);
    EXPECT_EQ(bytes.size(), 40u + 1 + 2 + kIpcOfferBytes + 2 + kStagedOfferBytes);
    bytes.push_back(std::byte{0xEE});  // what follows is not looked at
    Rts back;
    std::size_t length = 0;
    ASSERT_TRUE(decode(bytes, back, &length));
    EXPECT_EQ(length, bytes.size() - 1);
    EXPECT_EQ(std::memcmp(&back.common, &rts.common, sizeof rts.common), 0);
    EXPECT_EQ(std::memcmp(&back.envelope, &rts.envelope, sizeof rts.envelope), 0);
    ASSERT_EQ(back.offer_count, 2);
    EXPECT_EQ(back.offers[0].type, OfferType::kIpc);
    EXPECT_EQ(std::memcmp(&back.offers[0].ipc, &rts.offers[0].ipc, sizeof(IpcOffer)), 0);
    EXPECT_EQ(back.offers[1].type, OfferType::kStaged);
    EXPECT_EQ(back.offers[1].staged.chunk_bytes, 65536u);
}

TEST(Codec, RtsNeedsRoomAndAllItsBytes) {
    const Rts rts = sample_rts();
    const auto bytes = encoded(rts);
    test::GuardPage guard(bytes.size());
    Rts back;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_EQ(encode(rts, guard.tail(length)), 0u) << length;
        EXPECT_FALSE(decode(guard.copy(std::span(bytes).first(length)), back)) << length;
    }
    EXPECT_TRUE(decode(guard.copy(bytes), back));
}

TEST(Codec, TheLargestRtsFitsItsConstant) {
    Rts rts = sample_rts();
    rts.offers.fill(rts.offers[0]);
    rts.offer_count = kMaxOffers;
    EXPECT_EQ(encoded(rts).size(), kMaxRtsBytes);
    rts.offer_count = kMaxOffers + 1;
    std::vector<std::byte> room(10 * kMaxRtsBytes);
    EXPECT_EQ(encode(rts, room), 0u);
    rts.offer_count = 1;
    rts.offers[0].type = OfferType::kNone;
    EXPECT_EQ(encode(rts, room), 0u);
}

TEST(Codec, UnknownOffersAreSkipped) {
    Rts rts = sample_rts();
    rts.offer_count = 0;
    auto bytes = encoded(rts);
    bytes.back() = std::byte{3};
    for (const int type : {7, 250}) {  // a later version's, with a payload of two bytes
        for (const int each : {type, 2, 0xAA, 0xBB}) {
            bytes.push_back(static_cast<std::byte>(each));
        }
    }
    for (const int each : {2, 4, 0, 0x10, 0, 0}) {  // staged, chunks of 4096
        bytes.push_back(static_cast<std::byte>(each));
    }
    Rts back;
    ASSERT_TRUE(decode(bytes, back));
    ASSERT_EQ(back.offer_count, 1);
    EXPECT_EQ(back.offers[0].type, OfferType::kStaged);
    EXPECT_EQ(back.offers[0].staged.chunk_bytes, 4096u);
}

TEST(Codec, MoreOffersThanThereIsRoomForAreRefused) {
    Rts rts = sample_rts();
    rts.offer_count = 0;
    auto bytes = encoded(rts);
    bytes.back() = std::byte{kMaxOffers + 1};
    for (std::size_t offer = 0; offer < kMaxOffers + 1; ++offer) {
        for (const int each : {2, 4, 0, 0x10, 0, 0}) {  // staged, and sound by itself
            bytes.push_back(static_cast<std::byte>(each));
        }
    }
    Rts back;
    EXPECT_FALSE(decode(bytes, back));
    EXPECT_LE(back.offer_count, kMaxOffers);
}

TEST(Codec, BadOffersAreRefused) {
    Rts back;
    const auto bytes = encoded(sample_rts());
    constexpr std::size_t kCountAt = 40;
    constexpr std::size_t kFirstType = 41;
    constexpr std::size_t kFirstLength = 42;
    const auto refused = [&](std::size_t at, int value) {
        auto changed = bytes;
        changed[at] = static_cast<std::byte>(value);
        return !decode(changed, back);
    };
    EXPECT_TRUE(refused(kCountAt, 3)) << "one more than there are";
    EXPECT_TRUE(refused(kCountAt, 5));
    EXPECT_TRUE(refused(kCountAt, 255));
    EXPECT_TRUE(refused(kFirstType, 0));
    EXPECT_TRUE(refused(kFirstType, 2)) << "of another length than staged";
    EXPECT_TRUE(refused(kFirstLength, 111));
    EXPECT_TRUE(refused(kFirstLength, 113));
    EXPECT_TRUE(refused(kFirstLength, 255));
}

TEST(Codec, AnIpcOfferMustHoldTheWholeMessage) {
    Rts back;
    Rts rts = sample_rts();
    rts.offers[0].ipc.allocation_bytes = 512 + 4096;
    EXPECT_TRUE(decode(encoded(rts), back));
    rts.offers[0].ipc.allocation_bytes -= 1;
    EXPECT_FALSE(decode(encoded(rts), back));
    rts.offers[0].ipc.offset = UINT64_MAX;  // offset + bytes would wrap
    EXPECT_FALSE(decode(encoded(rts), back));
}

TEST(Codec, AStagedOfferHasAChunkSize) {
    Rts back;
    Rts rts = sample_rts();
    rts.offers[1].staged.chunk_bytes = kMaxChunkBytes;
    EXPECT_TRUE(decode(encoded(rts), back));
    rts.offers[1].staged.chunk_bytes = kMaxChunkBytes + 1;
    EXPECT_FALSE(decode(encoded(rts), back));
    rts.offers[1].staged.chunk_bytes = 0;
    EXPECT_FALSE(decode(encoded(rts), back));
}

}  // namespace
}  // namespace beeline::wire
