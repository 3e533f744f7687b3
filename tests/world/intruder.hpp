// SPDX-License-Identifier: BSD-3-Clause
// A peer without manners, and the traffic that must still be right after it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"
#include "wire/codec.hpp"

namespace beeline::world {

inline constexpr std::uint64_t kFirstId = std::uint64_t{1} << 32;  ///< of a process's first request

/// Speaks to a rank's shared memory without an engine's manners.
class Intruder {
 public:
    /// Known to the victim as itself, or as the rank whose process it lives in.
    enum class As { kItself, kRank };

    Intruder(Rank& rank, int victim, As as = As::kItself) {
        engine::Address address;
        EXPECT_TRUE(engine::decode(rank.address_of(victim), address));
        auto lane = mover::shm::Lane::create({16, 8, 1024, 2, 4096, 2, 4096},
                                             {[](void*, const mover::shm::Arrival&) {}, nullptr});
        EXPECT_TRUE(lane.ok());
        lane_ = std::move(*lane);
        auto link = lane_->connect(address.shm);
        EXPECT_TRUE(link.ok());
        link_ = std::move(*link);
        if (as == As::kRank) {
            engine::Address own;
            EXPECT_TRUE(engine::decode(rank.address_of(rank.rank()), own));
            link_->segment.sender(link_->index).nonce = own.shm.nonce;
        }
    }

    /// By a cell when it fits, or by a slot.
    void send(std::span<const std::byte> message, bool by_slot = false) {
        if (!by_slot && message.size() <= mover::shm::Lane::kInlineBytes) {
            while (!lane_->send_inline(*link_, message, {})) {
                usleep(20);
            }
            return;
        }
        std::uint32_t index = 0;
        std::byte* slot = nullptr;
        while ((slot = lane_->take_slot(index)) == nullptr) {
            usleep(20);
        }
        std::memcpy(slot, message.data(), message.size());
        while (!lane_->send_slot(*link_, index, message.size())) {
            usleep(20);
        }
    }
    template <class X>
    void send_message(const X& message) {
        send(std::as_bytes(std::span(&message, 1)));
    }

 private:
    std::unique_ptr<mover::shm::Lane> lane_;
    std::unique_ptr<mover::shm::Link> link_;
};

/// Messages of every type that are sound but lead nowhere: of communicator 77, or naming requests
/// that do not exist.
inline std::vector<std::byte> template_of(unsigned type) {
    std::array<std::byte, wire::kMaxRtsBytes> room{};
    std::size_t length = 0;
    const auto with_context = [](auto message) {
        message.common.context = 77;
        return message;
    };
    switch (type % 21) {
        case 0: {
            wire::Eager eager = with_context(wire::Eager{});
            eager.envelope.source = 1;
            length = wire::encode(eager, room);
            break;
        }
        case 1: {
            wire::Rts rts = with_context(wire::Rts{});
            rts.envelope.bytes = 100000;
            rts.offer_count = 3;
            rts.offers[2].type = wire::OfferType::kShm;
            rts.offers[0].type = wire::OfferType::kIpc;
            rts.offers[0].ipc.allocation_bytes = 100000;
            rts.offers[1].type = wire::OfferType::kStaged;
            rts.offers[1].staged.chunk_bytes = 4096;
            length = wire::encode(rts, room);
            break;
        }
        case 2: {
            wire::Cts cts = with_context(wire::Cts{});
            cts.sender_request = 0x4d00000000;
            cts.chunk_bytes = 4096;
            cts.depth = 2;
            cts.choice = wire::OfferType::kStaged;
            length = wire::encode(cts, room);
            break;
        }
        case 3: {
            wire::Data data = with_context(wire::Data{});
            data.receiver_request = 0x4d00000000;
            data.length = 4096;
            length = wire::encode(data, room);
            break;
        }
        case 4: {
            wire::Fin fin = with_context(wire::Fin{});
            fin.sender_request = 0x4d00000000;
            length = wire::encode(fin, room);
            break;
        }
        case 5: {
            wire::Ack ack = with_context(wire::Ack{});
            ack.sender_request = 0x4d00000000;
            length = wire::encode(ack, room);
            break;
        }
        case 6: {
            wire::Eager start = with_context(wire::Eager{});
            start.common.flags = wire::kMore;
            start.envelope.source = 1;
            start.envelope.bytes = 300;
            length = wire::encode(start, room) + 100;  // with data
            break;
        }
        case 7: {
            wire::Data fragment = with_context(wire::Data{});
            fragment.common.flags = wire::kFragment;
            fragment.offset = 100;
            fragment.length = 100;
            length = wire::encode(fragment, room) + 100;
            break;
        }
        case 8: {
            wire::Freed freed = with_context(wire::Freed{});
            freed.base = 0x7f0000000000;
            freed.buffer_id = 5;
            length = wire::encode(freed, room);
            break;
        }
        case 9: {
            wire::Want want = with_context(wire::Want{});
            want.sender_request = 0x4d00000000;
            want.receiver_request = 0x4d00000000;
            want.offer = wire::OfferType::kVmm;
            length = wire::encode(want, room);
            break;
        }
        case 10: {
            wire::Descriptors descriptors = with_context(wire::Descriptors{});
            descriptors.receiver_request = 0x4d00000000;
            length = wire::encode(descriptors, room);
            break;
        }
        case 11: {
            wire::DataAck ack = with_context(wire::DataAck{});
            ack.sender_request = 0x4d00000000;
            length = wire::encode(ack, room);
            break;
        }
        case 12: {
            wire::Data data = with_context(wire::Data{});
            data.common.flags = wire::kOnDevice;
            data.receiver_request = 0x4d00000000;
            data.length = 4096;
            data.slot = 3;
            length = wire::encode(data, room);
            break;
        }
        case 13: {
            wire::Rts rts = with_context(wire::Rts{});
            rts.envelope.bytes = 100000;
            rts.offer_count = 4;
            rts.offers[3].type = wire::OfferType::kPut;
            rts.offers[0].type = wire::OfferType::kVmm;
            rts.offers[0].ipc.detail = 1;
            rts.offers[0].ipc.allocation_bytes = 2 << 20;
            rts.offers[1].type = wire::OfferType::kPool;
            rts.offers[1].ipc.allocation_bytes = 100000;
            rts.offers[2].type = wire::OfferType::kBounce;
            rts.offers[2].ipc.allocation_bytes = 100000;
            rts.offers[2].ipc.detail = 4096;
            length = wire::encode(rts, room);
            break;
        }
        case 14: {
            wire::Put put = with_context(wire::Put{});
            put.sender_request = 0x4d00000000;
            put.bytes = 4096;
            put.into.allocation_bytes = 4096;
            length = wire::encode(put, room);
            break;
        }
        case 15: {
            wire::PutDone done = with_context(wire::PutDone{});
            done.receiver_request = 0x4d00000000;
            length = wire::encode(done, room);
            break;
        }
        case 16: {
            wire::RdmaPut put = with_context(wire::RdmaPut{});
            put.sender_request = 0x4d00000000;
            put.bytes = 4096;
            put.rails = 1;
            length = wire::encode(put, room);
            break;
        }
        case 17: {
            wire::RdmaFailed failed = with_context(wire::RdmaFailed{});
            failed.receiver_request = 0x4d00000000;
            length = wire::encode(failed, room);
            break;
        }
        case 18: {
            wire::RdmaConnect connect = with_context(wire::RdmaConnect{});
            connect.epoch = 1;
            connect.ends[0].queue_pairs[0] = 1;
            connect.ends[0].mtu = 1;
            length = wire::encode(connect, room);
            break;
        }
        case 19: {
            wire::Data data = with_context(wire::Data{});
            data.common.flags = wire::kInBlock;
            data.receiver_request = 0x4d00000000;
            data.length = 4096;
            data.slot = 1;
            length = wire::encode(data, room);
            break;
        }
        default: {
            wire::Nack nack = with_context(wire::Nack{});
            nack.receiver_request = 0x4d00000000;
            nack.offer = wire::OfferType::kStaged;
            length = wire::encode(nack, room);
            break;
        }
    }
    return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(length)};
}

/// One exchange of each sort of memory in both directions.
inline void check_traffic(Rank& rank, unsigned number) {
    for (const memory::Kind kind : {memory::Kind::kHost, memory::Kind::kDevice}) {
        for (const std::size_t bytes : {8U, 3000U, 70000U}) {
            MessageMemory out(rank.driver(), kind, bytes, 0, false);
            MessageMemory in(rank.driver(), kind, bytes, 0, false);
            out.fill(content(bytes, number));
            Ticket send;
            Ticket receive;
            const int other = 1 - rank.rank();
            rank.receive(receive, other, 3, in.all());
            rank.send(send, other, 3, out.all());
            rank.wait(receive);
            rank.wait(send);
            EXPECT_EQ(receive.outcome().status, Status::kOk);
            EXPECT_TRUE(in.holds(content(bytes, number)));
        }
    }
}

}  // namespace beeline::world
