// SPDX-License-Identifier: BSD-3-Clause
// Orders of events that are rare, and peers that cannot be reached.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "support/log_capture.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;

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

// A receiver that makes no progress has slots of the sender's device buffer: others get some too.
TEST(EngineOrder, DeviceBufferIsSharedByPeers) {
    Job job;
    job.size = 3;
    job.params.pml_bounce_chunk = 4096;
    job.params.pml_bounce_slots = 4;
    job.params.pml_protocol = static_cast<int>(protocol::Preference::kBounce);  // else one writes
    job.seconds = 20;
    run_ranks(job, [](Rank& rank) {
        constexpr std::size_t kBytes = 64 * 4096;
        MessageMemory memory(rank.driver(), rank.rank() == 0 ? Kind::kManaged : Kind::kDevice,
                             kBytes, 0, false);
        Ticket first;
        Ticket second;
        if (rank.rank() == 0) {
            memory.fill(content(kBytes, 1));
            rank.send(first, 1, 1, memory.all());
            rank.await(1, 1, true);
            for (int i = 0; i < 200; ++i) {  // all the slots it may have are filled
                rank.progress(1);
                usleep(50);
            }
            EXPECT_FALSE(first.done);
            rank.send(second, 2, 1, memory.all());
            rank.wait(second);
            EXPECT_EQ(second.outcome().path, protocol::Path::kCudaBounce);
            rank.reach(2);
            rank.wait(first);
            return;
        }
        rank.receive(first, 0, 1, memory.all());
        if (rank.rank() == 1) {
            while (first.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(0, 2, false);
        }
        rank.wait(first);
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

// The end of the last receive of a communicator is the end of the communicator, as when a program
// has freed both: nothing of it may be touched afterwards.
TEST(EngineOrder, ReceiveThatEndsItsCommunicator) {
    struct LastReceive : Ticket {
        engine::Engine* engine = nullptr;
        engine::Communicator* communicator = nullptr;
    };
    for (const auto mode : {engine::SendMode::kStandard, engine::SendMode::kSynchronous}) {
        for (const std::size_t bytes : {8U, 3000U, 50000U}) {
            Job job;
            job.cuda = false;
            job.params = tiny();
            run_ranks(job, [&](Rank& rank) {
                constexpr std::uint32_t kId = 9;
                MessageMemory memory(rank.driver(), Kind::kHost, bytes, 0, false);
                if (rank.rank() == 0) {
                    engine::Communicator* mine = rank.add_communicator(kId);
                    Ticket ticket;
                    rank.await(1, 1, true);
                    rank.engine().send(ticket.request, *mine, 1, 1, memory.all(), mode);
                    rank.wait(ticket);
                    rank.barrier();
                    rank.engine().remove_communicator(mine);
                    return;
                }
                LastReceive last;
                last.engine = &rank.engine();
                last.communicator = rank.add_communicator(kId);
                last.request.done = [](engine::Request* request) {
                    auto& self = *static_cast<LastReceive*>(static_cast<Ticket*>(request->owner));
                    self.engine->remove_communicator(self.communicator);
                    // What lies where the communicator was is nobody's to read.
                    for (void* scribble : {std::malloc(24), std::malloc(32), std::malloc(48)}) {
                        std::memset(scribble, 0x5a, 24);
                        std::free(scribble);
                    }
                    self.done = true;
                };
                rank.engine().receive(last.request, *last.communicator, 0, 1, memory.all());
                rank.reach(1);
                rank.wait(last);
                rank.progress(20);
                rank.barrier();
            });
        }
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

// An address that UCX cannot connect to: the send ends with an error instead of waiting for ever.
TEST(EngineOrder, ReceiverThatCannotBeReached) {
    Job job;
    job.params.pml_shm = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        if (rank.rank() == 0) {
            engine::Address address;
            ASSERT_TRUE(engine::decode(rank.address_of(1), address));
            std::fill(address.ucx.begin() + 8, address.ucx.end(), std::byte{0});
            engine::Peer* lost = rank.engine().add_peer(engine::encode(address));
            ASSERT_NE(lost, nullptr);
            lost->shm_tried = true;
            engine::Communicator* blind = rank.engine().add_communicator(
                5, 0, 2, {[](void* self, int) { return static_cast<engine::Peer*>(self); }, lost});
            for (const std::size_t bytes : {100U, 300000U}) {
                MessageMemory memory(rank.driver(), Kind::kDevice, bytes, 0, false);
                Ticket ticket;
                rank.engine().send(ticket.request, *blind, 1, 1, memory.all(),
                                   engine::SendMode::kStandard);
                EXPECT_TRUE(ticket.done) << bytes;
                EXPECT_EQ(ticket.outcome().status, Status::kUnreachable) << bytes;
            }
            rank.engine().remove_communicator(blind);
        }
        rank.barrier();
    });
}

// The path of a receive is that of its message, whether or not this rank has sent to that peer.
TEST(EngineOrder, ReceiveKnowsThePathOfItsMessage) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        for (const std::size_t bytes : {8U, 3000U, 50000U}) {
            for (const bool unexpected : {false, true}) {
                MessageMemory memory(rank.driver(), Kind::kHost, bytes, 0, false);
                Ticket ticket;
                if (rank.rank() == 0) {
                    rank.send(ticket, 1, 1, memory.all());
                    rank.wait(ticket);
                } else {
                    if (unexpected) {
                        while (rank.engine().probe(rank.world(), 0, 1) == nullptr) {
                            rank.progress(1);
                        }
                    }
                    rank.receive(ticket, 0, 1, memory.all());
                    rank.wait(ticket);
                    EXPECT_EQ(ticket.outcome().path, protocol::Path::kShm) << bytes;
                }
                rank.barrier();
            }
        }
    });
}

}  // namespace
}  // namespace beeline::world
