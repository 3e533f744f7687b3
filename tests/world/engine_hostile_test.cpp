// SPDX-License-Identifier: BSD-3-Clause
// Peers that send what they should not: nothing crashes or hangs, and what comes later is right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

#include "mover/ucx/lane.hpp"
#include "support/log_capture.hpp"
#include "tests/world/intruder.hpp"

namespace beeline::world {
namespace {

using memory::Kind;

TEST(EngineHostile, RandomAndDamagedMessagesAreIgnored) {
    Job job;
    job.params = tiny();
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        check_traffic(rank, 1);
        rank.barrier();
        if (rank.rank() == 1) {
            Intruder intruder(rank, 0);
            std::mt19937 random(20240229);
            for (unsigned i = 0; i < 6000; ++i) {
                std::vector<std::byte> message;
                if (i % 3 == 0) {  // anything
                    message.resize(1 + random() % 400);
                    for (std::byte& byte : message) {
                        byte = static_cast<std::byte>(random());
                    }
                } else {
                    message = template_of(random());
                    if (i % 3 == 1) {  // up to three bits that flipped
                        for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
                            const std::size_t bit = random() % (message.size() * 8);
                            message[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
                        }
                    } else {  // cut
                        message.resize(1 + random() % message.size());
                    }
                }
                intruder.send(message, random() % 2 == 0);
            }
            rank.reach(1);
        } else {
            rank.await(1, 1, true);
            rank.progress(100);
        }
        rank.barrier();
        if (rank.rank() == 0) {  // what was kept for it is sorted out, and dropped
            rank.engine().remove_communicator(rank.add_communicator(77));
        }
        check_traffic(rank, 2);
        EXPECT_LE(log.lines().size(), rank.rank() == 0 ? 10U : 0U) << "one line for each reason";
        EXPECT_EQ(log.lines().empty(), rank.rank() == 1);
    });
}

// Answers that name a request of the wrong state must not end it, or touch it after its end.
TEST(EngineHostile, AnswersInTheWrongStateAreIgnored) {
    Job job;
    job.params = tiny();
    job.params.pml_cuda_ipc = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        if (rank.rank() == 1) {
            rank.reach(1);  // takes nothing from now on
            rank.await(0, 1, false);
            Intruder intruder(rank, 0, Intruder::As::kRank);
            // The first four wait for an ACK, the others for room: they are not sent yet.
            for (std::uint64_t index = 0; index < 8; ++index) {
                const std::uint64_t id = kFirstId | index;
                wire::Data data;
                data.receiver_request = id;
                data.length = 100;
                intruder.send_message(data);
                wire::Fin fin;
                fin.sender_request = id;
                intruder.send_message(fin);
                wire::Nack nack;
                nack.receiver_request = id;
                nack.offer = wire::OfferType::kStaged;
                intruder.send_message(nack);
                wire::Cts cts;
                cts.sender_request = id;
                cts.bytes = 480;
                cts.chunk_bytes = 4096;
                cts.depth = 2;
                cts.choice = wire::OfferType::kStaged;
                intruder.send_message(cts);
                if (index >= 4) {
                    wire::Ack ack;
                    ack.sender_request = id;
                    intruder.send_message(ack);
                }
            }
            rank.reach(2);
            rank.await(0, 2, false);
        } else {
            rank.await(1, 1, false);
        }
        // Synchronous sends with gaps, more than the slots hold: some wait for room.
        constexpr int kMessages = 7;
        std::array<Ticket, kMessages> tickets;
        std::vector<MessageMemory> memory;
        for (unsigned i = 0; i < kMessages; ++i) {
            memory.emplace_back(rank.driver(), Kind::kHost, std::size_t{240}, std::size_t{0}, true);
            if (rank.rank() == 0) {
                memory[i].fill(content(240, i));
                rank.send(tickets[i], 1, 1, memory[i].all(), engine::SendMode::kSynchronous);
            }
        }
        if (rank.rank() == 0) {
            rank.reach(1);
            rank.await(1, 2, true);
            rank.progress(100);
            for (const Ticket& ticket : tickets) {
                EXPECT_FALSE(ticket.done);
            }
            rank.reach(2);
        } else {
            for (unsigned i = 0; i < kMessages; ++i) {
                rank.receive(tickets[i], 0, 1, memory[i].all());
            }
        }
        for (unsigned i = 0; i < kMessages; ++i) {
            rank.wait(tickets[i]);
            EXPECT_EQ(tickets[i].outcome().status, Status::kOk);
            EXPECT_TRUE(memory[i].holds(content(240, i)));
        }
        rank.barrier();
        check_traffic(rank, 3);
    });
}

// An ACK or a FIN for a send whose chunks are on their way: ended then, its pieces would lead to a
// request that is gone.
TEST(EngineHostile, AnswersDuringAStagedSendAreIgnored) {
    Job job;
    job.params = tiny();
    job.params.pml_cuda_ipc = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 60000;
        MessageMemory memory(rank.driver(), rank.rank() == 0 ? Kind::kDevice : Kind::kHost, kBytes,
                             0, false);
        auto ticket = std::make_unique<Ticket>();
        if (rank.rank() == 0) {
            memory.fill(content(kBytes, 1));
            rank.send(*ticket, 1, 1, memory.all());
            rank.await(1, 1, true);  // the chunks are out, none is free
            rank.progress(100);
            EXPECT_FALSE(ticket->done);
            rank.reach(1);
        } else {
            rank.receive(*ticket, 0, 1, memory.all());
            while (ticket->outcome().bytes == 0) {
                rank.progress(1);
            }
            usleep(2000);
            Intruder intruder(rank, 0, Intruder::As::kRank);
            wire::Ack ack;
            ack.sender_request = kFirstId;
            intruder.send_message(ack);
            wire::Fin fin;
            fin.sender_request = kFirstId;
            intruder.send_message(fin);
            rank.reach(1);
            rank.await(0, 1, false);
        }
        rank.wait(*ticket);
        EXPECT_EQ(ticket->outcome().status, Status::kOk);
        EXPECT_TRUE(memory.holds(content(kBytes, 1)));
        rank.barrier();
        check_traffic(rank, 4);
    });
}

// Device memory from a peer that says what is not so: handles that are none, descriptors that never
// come, slots that do not exist. The receive ends with the bytes the sender stages after all.
TEST(EngineHostile, DeviceOffersThatAreNotTrue) {
    Job job;
    job.params = tiny();
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 60000;
        for (const auto type : {wire::OfferType::kIpc, wire::OfferType::kVmm,
                                wire::OfferType::kPool, wire::OfferType::kBounce}) {
            MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, false);
            auto* ticket = new Ticket;  // outlives this: it never ends
            engine::Communicator* other =
                rank.add_communicator(20 + static_cast<std::uint32_t>(type));
            if (rank.rank() == 0) {
                rank.engine().receive(ticket->request, *other, 1, 1, memory.all());
                rank.reach(10 + static_cast<std::uint64_t>(type));
                rank.await(1, 10 + static_cast<std::uint64_t>(type), true);
                rank.progress(200);
                EXPECT_FALSE(ticket->done);
            } else {
                rank.await(0, 10 + static_cast<std::uint64_t>(type), false);
                Intruder intruder(rank, 0);
                wire::Rts rts;
                rts.common.context = other->id;
                rts.envelope.source = 1;
                rts.envelope.tag = 1;
                rts.envelope.bytes = kBytes;
                rts.envelope.sender_request = 0x4d00000000;
                rts.offer_count = 2;
                rts.offers[0].type = type;
                rts.offers[0].ipc.allocation_bytes = 2 << 20;
                rts.offers[0].ipc.detail = 1;
                rts.offers[1].type = wire::OfferType::kStaged;
                rts.offers[1].staged.chunk_bytes = 4096;
                std::vector<std::byte> room(wire::kMaxRtsBytes);
                room.resize(wire::encode(rts, room));
                intruder.send(room, true);
                for (std::uint64_t index = 0; index < 64; ++index) {
                    const std::uint64_t id = kFirstId | index;
                    wire::Descriptors descriptors;  // that were never sent
                    descriptors.receiver_request = id;
                    intruder.send_message(descriptors);
                    wire::Data data;
                    data.common.flags = wire::kOnDevice;
                    data.receiver_request = id;
                    data.length = 100;
                    data.slot = 7000;
                    intruder.send_message(data);
                    wire::DataAck ack;
                    ack.sender_request = id;
                    intruder.send_message(ack);
                    wire::Freed freed;
                    freed.base = index;
                    intruder.send_message(freed);
                }
                rank.reach(10 + static_cast<std::uint64_t>(type));
            }
            rank.barrier();
        }
        check_traffic(rank, 5);
    });
}

// A chunk by UCX that is larger than what was agreed on must not run over the staging chunk.
TEST(EngineHostile, ChunkLargerThanAgreedIsRefused) {
    Job job;
    job.params = tiny();
    job.params.pml_shm = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 400000;
        MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket ticket;
        if (rank.rank() == 0) {
            rank.receive(ticket, 1, 1, memory.all());
            while (ticket.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(1, 1, true);
        } else {
            memory.fill(content(kBytes, 1));
            rank.send(ticket, 0, 1, memory.all());
            rank.await(0, 1, false);
            engine::Address address;
            ASSERT_TRUE(engine::decode(rank.address_of(0), address));
            auto lane = mover::ucx::Lane::create({[](void*, std::span<const std::byte>,
                                                     const mover::ucx::Payload&) { return false; },
                                                  nullptr});
            ASSERT_TRUE(lane.ok());
            auto endpoint = (*lane)->connect(address.ucx);
            ASSERT_TRUE(endpoint.ok());
            const Bytes payload(300000, 0xEE);
            for (const bool rendezvous : {false, true}) {
                mover::ucx::Operation* operation = (*lane)->take();
                wire::Data data;
                data.receiver_request = kFirstId;
                data.length = static_cast<std::uint32_t>(payload.size());
                operation->header_bytes = wire::encode(data, operation->header);
                operation->done = [](mover::ucx::Operation*, Status) {};
                (*lane)->send(*endpoint, operation, payload.data(), payload.size(), rendezvous);
                while ((*lane)->outstanding() != 0) {
                    (*lane)->progress();
                }
            }
            (*lane)->close(*endpoint, nullptr);
            rank.reach(1);
        }
        rank.wait(ticket);
        EXPECT_EQ(ticket.outcome().status, Status::kOk);
        EXPECT_TRUE(memory.holds(content(kBytes, 1)));
    });
}

// What a third process says of a message between two others is not believed: an ACK would end a
// synchronous send early, a chunk would put its bytes into another's message.
TEST(EngineHostile, OnlyTheOtherSideMayAnswer) {
    Job job;
    job.size = 3;
    job.params = tiny();
    job.params.pml_cuda_ipc = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 60000;
        MessageMemory small(rank.driver(), Kind::kHost, 8, 0, false);
        MessageMemory large(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket send;
        Ticket receive;
        if (rank.rank() == 0) {
            small.fill(content(8, 1));
            rank.send(send, 1, 1, small.all(), engine::SendMode::kSynchronous);
            rank.receive(receive, 1, 2, large.all());
            while (receive.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(2, 1, true);
            rank.progress(100);
            EXPECT_FALSE(send.done);
            EXPECT_FALSE(receive.done);
            EXPECT_EQ(log.lines().size(), 1U);
            EXPECT_NE(log.lines().at(0).find("answers request"), std::string::npos);
            rank.reach(2);
        } else if (rank.rank() == 1) {
            large.fill(content(kBytes, 2));
            rank.send(send, 0, 2, large.all());
            rank.await(0, 2, false);
            rank.receive(receive, 0, 1, small.all());
        } else {
            rank.await(0, 1, false);
            Intruder intruder(rank, 0);
            for (const std::uint64_t id : {kFirstId, kFirstId + 1}) {
                wire::Ack ack;
                ack.sender_request = id;
                intruder.send_message(ack);
                wire::Data data;
                data.receiver_request = id;
                data.length = 4096;
                intruder.send_message(data);
                wire::Nack nack;
                nack.receiver_request = id;
                nack.offer = wire::OfferType::kStaged;
                intruder.send_message(nack);
            }
            rank.reach(1);
        }
        if (rank.rank() != 2) {
            rank.wait(send);
            rank.wait(receive);
            EXPECT_EQ(receive.outcome().status, Status::kOk);
            EXPECT_TRUE(rank.rank() == 0 ? large.holds(content(kBytes, 2))
                                         : small.holds(content(8, 1)));
        }
        rank.barrier();
    });
}

// Starts of large messages for a communicator that nobody makes: small to send, large to keep.
TEST(EngineHostile, MessagesForUnknownCommunicatorsAreBounded) {
    Job job;
    job.params = tiny();
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::uint32_t kUnknown = 77;
        constexpr unsigned kMessages = 300;
        if (rank.rank() == 1) {
            Intruder intruder(rank, 0);
            for (unsigned i = 0; i < kMessages; ++i) {
                std::array<std::byte, sizeof(wire::Eager) + 8> message{};
                wire::Eager start;
                start.common.context = kUnknown;
                start.common.flags = wire::kMore;
                start.envelope.source = 1;
                start.envelope.tag = static_cast<int>(i);
                start.envelope.sequence = i;
                start.envelope.bytes = 1 << 20;
                start.envelope.sender_request = i + 1;
                std::memcpy(message.data(), &start, sizeof start);
                intruder.send(message, true);
            }
            rank.reach(1);
            rank.await(0, 1, false);
        } else {
            rank.await(1, 1, true);
            rank.progress(100);
            EXPECT_EQ(log.lines().size(), 1U);
            for (const std::string& line : log.lines()) {
                EXPECT_NE(line.find("from rank 1 of communicator 77"), std::string::npos) << line;
            }
            engine::Communicator* late = rank.add_communicator(kUnknown);
            Ticket last;
            rank.engine().receive(last.request, *late, 1, kMessages - 1, {nullptr, 0, 0, nullptr});
            EXPECT_TRUE(last.done);
            EXPECT_EQ(last.outcome().status, Status::kDriver) << "its data was not kept";
            rank.engine().remove_communicator(late);
            rank.reach(1);
        }
        rank.barrier();
        check_traffic(rank, 5);
    });
}

}  // namespace
}  // namespace beeline::world
