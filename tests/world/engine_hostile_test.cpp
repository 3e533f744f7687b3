// SPDX-License-Identifier: BSD-3-Clause
// Peers that send what they should not, and orders of events that are rare: nothing crashes or
// hangs, and what comes later is right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

#include "mover/ucx/lane.hpp"
#include "support/log_capture.hpp"
#include "tests/world/intruder.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"
#include "wire/codec.hpp"

namespace beeline::world {
namespace {

using memory::Kind;

constexpr std::uint64_t kFirstId = Intruder::kFirstId;

/// Messages of every type that are sound but lead nowhere: of communicator 77, or naming requests
/// that do not exist.
std::vector<std::byte> template_of(unsigned type) {
    std::array<std::byte, wire::kMaxRtsBytes> room{};
    std::size_t length = 0;
    const auto with_context = [](auto message) {
        message.common.context = 77;
        return message;
    };
    switch (type % 11) {
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
            rts.offers[2].type = wire::OfferType::kPut;
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
            wire::Put put = with_context(wire::Put{});
            put.sender_request = 0x4d00000000;
            put.bytes = 4096;
            put.into.allocation_bytes = 4096;
            length = wire::encode(put, room);
            break;
        }
        case 9: {
            wire::PutDone done = with_context(wire::PutDone{});
            done.receiver_request = 0x4d00000000;
            length = wire::encode(done, room);
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
void check_traffic(Rank& rank, unsigned number) {
    for (const Kind kind : {Kind::kHost, Kind::kDevice}) {
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
        EXPECT_LE(log.lines().size(), rank.rank() == 0 ? 8U : 0U) << "one line for each reason";
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
            rank.await(0, 1, false);
            Intruder intruder(rank, 0);
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
            rank.reach(1);
            rank.await(0, 2, false);
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
            rank.await(1, 1, true);
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
            Intruder intruder(rank, 0);
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

// More chunks wait for room than the queue takes at once, and the receiver does not read: the
// sender must come back from progress().
TEST(EngineOrder, FullQueueDoesNotHoldProgressUp) {
    Job job;
    job.params = tiny();
    job.params.pml_shm_chunks = 64;
    job.params.pml_staging_depth = 40;
    job.params.pml_cuda_ipc = false;
    job.seconds = 20;
    run_ranks(job, [](Rank& rank) {
        constexpr std::size_t kBytes = 64 * 4096;
        constexpr int kFillers = 16;
        MessageMemory memory(rank.driver(), rank.rank() == 0 ? Kind::kDevice : Kind::kHost, kBytes,
                             0, false);
        unsigned char byte = 7;
        Ticket ticket;
        std::array<Ticket, kFillers> fillers;
        if (rank.rank() == 0) {
            memory.fill(content(kBytes, 1));
            rank.send(ticket, 1, 1, memory.all());
            rank.await(1, 1, false);
            for (Ticket& filler : fillers) {
                rank.send(filler, 1, 2, {&byte, 1, 0, nullptr});
            }
            for (int i = 0; i < 200; ++i) {  // the chunks are copied meanwhile
                rank.progress(1);
                usleep(100);
            }
            rank.reach(1);
            rank.await(1, 2, false);
            rank.progress(3);
            rank.reach(2);
        } else {
            rank.receive(ticket, 0, 1, memory.all());
            while (ticket.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(0, 1, false);
            rank.progress(1);
            rank.reach(2);
            rank.await(0, 2, false);
            for (Ticket& filler : fillers) {
                rank.receive(filler, 0, 2, {&byte, 1, 0, nullptr});
            }
        }
        rank.wait(ticket);
        for (Ticket& filler : fillers) {
            rank.wait(filler);
        }
        EXPECT_TRUE(memory.holds(content(kBytes, 1)));
    });
}

// Messages to a communicator that this rank makes later, in their order.
TEST(EngineOrder, EarlyMessagesWaitForTheirCommunicator) {
    for (const bool shm : {true, false}) {
        Job job;
        job.params = tiny();
        job.params.pml_shm = shm;
        run_ranks(job, [](Rank& rank) {
            constexpr std::uint32_t kLate = 12;
            constexpr std::size_t kSizes[] = {0, 8, 200, 400, 5000, 60000, 100, 30000};
            const bool sender = rank.rank() == 0;
            std::array<Ticket, 2 * std::size(kSizes)> tickets;
            std::vector<MessageMemory> memory;
            memory.reserve(tickets.size());
            const auto each = [&](auto&& start) {
                for (unsigned i = 0; i < tickets.size(); ++i) {
                    const Kind kind = i % 2 == 0 ? Kind::kHost : Kind::kDevice;
                    start(tickets[i], kind, kSizes[i / 2], i);
                }
            };
            engine::Communicator* late = nullptr;
            if (sender) {
                late = rank.add_communicator(kLate);
                each([&](Ticket& ticket, Kind kind, std::size_t bytes, unsigned i) {
                    memory.emplace_back(rank.driver(), kind, bytes, std::size_t{0}, false);
                    memory.back().fill(content(bytes, i));
                    rank.engine().send(ticket.request, *late, 1, 4, memory.back().all(),
                                       engine::SendMode::kStandard);
                });
                rank.reach(1);
            } else {
                rank.await(0, 1, true);
                for (int i = 0; i < 50; ++i) {
                    rank.progress(20);
                    usleep(100);
                }
                late = rank.add_communicator(kLate);
                each([&](Ticket& ticket, Kind kind, std::size_t bytes, unsigned) {
                    memory.emplace_back(rank.driver(), kind, bytes, std::size_t{0}, false);
                    rank.engine().receive(ticket.request, *late, match::kAnySource, match::kAnyTag,
                                          memory.back().all());
                });
            }
            for (unsigned i = 0; i < tickets.size(); ++i) {
                rank.wait(tickets[i]);
                EXPECT_EQ(tickets[i].outcome().status, Status::kOk);
                EXPECT_TRUE(sender || memory[i].holds(content(kSizes[i / 2], i))) << i;
            }
            rank.barrier();
            rank.engine().remove_communicator(late);
        });
    }
}

TEST(EngineOrder, CancelTakesBackOnlyWhatIsNotMatched) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        int value = rank.rank();
        const engine::Buffer buffer{&value, sizeof value, 0, nullptr};
        if (rank.rank() == 0) {
            rank.barrier();
            Ticket send;
            rank.send(send, 1, 1, buffer);
            rank.wait(send);
            rank.barrier();
            return;
        }
        Ticket cancelled;
        Ticket taken;
        rank.receive(cancelled, 0, match::kAnyTag, buffer);
        rank.receive(taken, 0, 1, buffer);
        EXPECT_TRUE(rank.engine().cancel(cancelled.request));
        EXPECT_EQ(cancelled.calls, 1);
        EXPECT_TRUE(cancelled.outcome().cancelled);
        EXPECT_FALSE(rank.engine().cancel(cancelled.request));
        rank.barrier();
        rank.wait(taken);
        EXPECT_FALSE(rank.engine().cancel(taken.request));
        EXPECT_EQ(taken.calls, 1);
        EXPECT_EQ(value, 0);
        EXPECT_EQ(cancelled.calls, 1);
        rank.barrier();
    });
}

TEST(EngineOrder, ProbedMessageIsReceivedByItsTaker) {
    Job job;
    run_ranks(job, [](Rank& rank) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{90000}}) {
            for (const Kind kind : {Kind::kHost, Kind::kDevice}) {
                MessageMemory memory(rank.driver(), kind, bytes, 0, false);
                Ticket ticket;
                if (rank.rank() == 0) {
                    memory.fill(content(bytes, 5));
                    rank.send(ticket, 1, 6, memory.all());
                } else {
                    EXPECT_EQ(rank.engine().probe(rank.world(), 0, 7), nullptr);
                    engine::Message* message = nullptr;
                    while (message == nullptr) {
                        rank.progress(1);
                        message = rank.engine().probe(rank.world(), match::kAnySource, 6);
                    }
                    EXPECT_EQ(message->arrived.envelope.bytes, bytes);
                    rank.engine().extract(rank.world(), message);
                    EXPECT_EQ(rank.engine().probe(rank.world(), 0, 6), nullptr);
                    rank.engine().receive_matched(ticket.request, rank.world(), message,
                                                  memory.all());
                }
                rank.wait(ticket);
                EXPECT_TRUE(memory.holds(content(bytes, 5))) << bytes;
                rank.barrier();
            }
        }
    });
}

// A message whose sender this rank cannot answer ends with an error.
TEST(EngineOrder, SenderThatCannotBeAnswered) {
    Job job;
    job.abrupt = true;  // the sender waits in vain
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        for (const std::uint32_t blind_id : {3U, 4U}) {
            const Kind kind = blind_id == 3 ? Kind::kDevice : Kind::kHost;
            MessageMemory memory(rank.driver(), kind, 300000, 0, false);
            auto* ticket = new Ticket;  // outlives this: it may never end
            if (rank.rank() == 0) {
                engine::Communicator* blind = rank.add_communicator(blind_id);
                rank.engine().send(ticket->request, *blind, 1, 1, memory.all(),
                                   engine::SendMode::kStandard);
                rank.barrier();
                rank.barrier();
                continue;
            }
            engine::Communicator* blind = rank.engine().add_communicator(
                blind_id, 1, 2, {[](void*, int) -> engine::Peer* { return nullptr; }, nullptr});
            MessageMemory device(rank.driver(), Kind::kDevice, 300000, 0, false);
            rank.engine().receive(ticket->request, *blind, 0, 1, device.all());
            rank.barrier();
            rank.wait(*ticket);
            EXPECT_EQ(ticket->outcome().status, Status::kUnreachable);
            rank.barrier();
        }
    });
}

}  // namespace
}  // namespace beeline::world
