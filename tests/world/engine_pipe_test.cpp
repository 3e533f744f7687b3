// SPDX-License-Identifier: BSD-3-Clause
// Large host messages through shared memory after a rendezvous: bounded memory, no allocation,
// receivers that stand still, and peers that say what is not so.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

#include "support/allocations.hpp"
#include "support/log_capture.hpp"
#include "tests/world/intruder.hpp"

namespace beeline::world {
namespace {

using memory::Kind;

/// Bytes of this process that are in memory.
std::size_t resident() {
    std::size_t pages = 0;
    FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%*s %zu", &pages) != 1) {
        ADD_FAILURE() << "statm cannot be read";
    }
    std::fclose(file);
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

engine::Buffer plain(Bytes& bytes) {
    return {bytes.data(), bytes.size(), 0, nullptr};
}

TEST(Pipe, UnexpectedMessagesTakeNoMemory) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        constexpr int kMessages = 500;
        constexpr std::size_t kBytes = 1 << 20;
        const Bytes sent = content(kBytes, 7);
        Bytes data = rank.rank() == 0 ? sent : Bytes(kBytes);
        const std::size_t before = resident();
        if (rank.rank() == 0) {
            std::deque<Ticket> tickets(kMessages);
            for (Ticket& ticket : tickets) {
                EXPECT_EQ(rank.send(ticket, 1, 1, plain(data)), Status::kOk);
            }
            rank.reach(1);
            for (Ticket& ticket : tickets) {
                rank.wait(ticket);
                EXPECT_EQ(ticket.outcome().path, protocol::Path::kShm);
            }
        } else {
            rank.await(0, 1, true);
            rank.progress(2000);
            engine::Message* found = rank.engine().probe(rank.world(), match::kAnySource, 1);
            ASSERT_NE(found, nullptr);
            EXPECT_EQ(found->arrived.envelope.bytes, kBytes);
            EXPECT_EQ(rank.engine().counters().unexpected, unsigned{kMessages});
            EXPECT_LT(resident() - before, std::size_t{8} << 20) << "for 500 MiB";
            for (int i = 0; i < kMessages; ++i) {
                Ticket ticket;
                std::fill(data.begin(), data.end(), static_cast<unsigned char>(i));
                EXPECT_EQ(rank.receive(ticket, match::kAnySource, 1, plain(data)), Status::kOk);
                rank.wait(ticket);
                EXPECT_EQ(ticket.outcome().path, protocol::Path::kShm);
                if (i % 50 == 0) {
                    EXPECT_EQ(data, sent) << i;
                }
            }
            EXPECT_LT(resident() - before, std::size_t{8} << 20);
        }
        rank.barrier();
    });
}

TEST(Pipe, AllocatesNothingForAMessage) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        constexpr std::size_t kBytes = 600000;
        Bytes out = content(kBytes, 1);
        Bytes in(kBytes);
        Ticket send;
        Ticket receive;
        std::uint64_t warm = 0;
        for (int i = 0; i < 40; ++i) {
            if (i == 10) {
                warm = test::allocations();
            }
            send.done = receive.done = false;
            const int other = 1 - rank.rank();
            rank.receive(receive, other, 1, plain(in));
            rank.send(send, other, 1, plain(out));
            rank.wait(receive);
            rank.wait(send);
        }
        EXPECT_EQ(test::allocations(), warm);
        EXPECT_EQ(in, out);
        rank.barrier();
    });
}

// Each rank to each other, many messages at once, with fewer blocks than receivers.
TEST(Pipe, ManyMessagesShareFewBlocks) {
    Job job;
    job.size = 4;
    job.cuda = false;
    job.params.pml_shm_blocks = 2;
    job.params.pml_shm_block = 4096;
    job.params.pml_shm_cells = 16;
    run_ranks(job, [](Rank& rank) {
        constexpr unsigned kMessages = 6;
        struct Work {
            Ticket ticket;
            Bytes data;
            unsigned number;
        };
        std::deque<Work> sends;
        std::deque<Work> receives;
        const auto number = [](int from, int to, unsigned message) {
            return static_cast<unsigned>(from * 100 + to * 10) + message;
        };
        for (unsigned message = 0; message < kMessages; ++message) {
            for (int other = 0; other < rank.size(); ++other) {
                if (other == rank.rank()) {
                    continue;
                }
                const std::size_t bytes = 140000 + 10007 * message;
                Work& in = receives.emplace_back();
                in.number = number(other, rank.rank(), message);
                in.data.resize(bytes);
                rank.receive(in.ticket, other, 3, plain(in.data));
                Work& out = sends.emplace_back();
                out.data = content(bytes, number(rank.rank(), other, message));
                rank.send(out.ticket, other, 3, plain(out.data));
            }
        }
        for (Work& in : receives) {
            rank.wait(in.ticket);
            EXPECT_EQ(in.data, content(in.data.size(), in.number)) << in.number;
        }
        for (Work& out : sends) {
            rank.wait(out.ticket);
            EXPECT_EQ(out.ticket.outcome().path, protocol::Path::kShm);
        }
        rank.barrier();
    });
}

/// Rank 1 asks for a message and then stands still. Whether rank 0's large message to rank 2 gets
/// through meanwhile depends on the blocks there are; small ones always do.
void stand_still(int blocks, bool large_arrives) {
    Job job;
    job.size = 3;
    job.cuda = false;
    job.params.pml_shm_blocks = blocks;
    job.params.pml_shm_depth = 2;
    run_ranks(job, [&](Rank& rank) {
        constexpr std::size_t kBytes = 1 << 20;
        Bytes large = rank.rank() == 0 ? content(kBytes, 1) : Bytes(kBytes);
        Bytes small(3000);
        Ticket first;
        Ticket second;
        Ticket third;
        if (rank.rank() == 0) {
            rank.send(first, 1, 1, plain(large));
            rank.await(1, 1, true);
            rank.progress(200);
            EXPECT_FALSE(first.done);
            rank.send(second, 2, 1, plain(large));
            rank.send(third, 2, 2, plain(small));
            rank.wait(third);
            rank.await(2, 1, true);  // has the small one
            if (large_arrives) {
                rank.wait(second);
            } else {
                rank.progress(1000);
                EXPECT_FALSE(second.done);
            }
            EXPECT_FALSE(first.done);
            rank.reach(1);
            rank.wait(second);
            rank.wait(first);
        } else if (rank.rank() == 1) {
            rank.receive(first, 0, 1, plain(large));
            while (first.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(0, 1, false);
            rank.wait(first);
        } else {
            rank.receive(second, 0, 1, plain(large));
            rank.receive(third, 0, 2, plain(small));
            rank.wait(third);
            rank.reach(1);
            rank.wait(second);
        }
        EXPECT_EQ(large, content(kBytes, 1));
        rank.barrier();
    });
}

TEST(Pipe, AReceiverThatStandsStillHoldsNoOther) {
    stand_still(8, true);
}

TEST(Pipe, WhereBlocksAreFewOnlyLargeMessagesWait) {
    stand_still(2, false);
}

TEST(Pipe, OnlyWhereItIsTheFasterWay) {
    for (const std::size_t limit : {std::size_t{0}, std::size_t{200000}}) {
        Job job;
        job.cuda = false;
        job.params.pml_shm_limit = limit;
        run_ranks(job, [limit](Rank& rank) {
            for (const std::size_t bytes : {std::size_t{150000}, std::size_t{200001}}) {
                Bytes data = rank.rank() == 0 ? content(bytes, 1) : Bytes(bytes);
                Ticket ticket;
                if (rank.rank() == 0) {
                    rank.send(ticket, 1, 1, plain(data));
                } else {
                    rank.receive(ticket, 0, 1, plain(data));
                }
                rank.wait(ticket);
                EXPECT_EQ(ticket.outcome().path,
                          bytes <= limit ? protocol::Path::kShm : protocol::Path::kUcx);
                EXPECT_EQ(ticket.outcome().reason, protocol::Reason::kHostMemory);
                EXPECT_EQ(data, content(bytes, 1));
                rank.barrier();
            }
        });
    }
}

/// Blocks that no sender of ours would send, for the receive with this id.
void send_wrong_blocks(Intruder& intruder, std::uint64_t id) {
    wire::Data data;
    data.common.flags = wire::kInBlock;
    data.receiver_request = id;
    data.length = 100;
    data.offset = 100;  // not the next
    intruder.send_message(data);
    data.offset = 0;
    data.slot = 7000;  // no such block
    intruder.send_message(data);
    data.slot = 1;
    data.length = 5000;  // larger than a block
    intruder.send_message(data);
    data.length = 4096;
    data.offset = 599000;  // beyond the end
    intruder.send_message(data);
    data.common.flags = 0;  // a chunk
    data.offset = 0;
    intruder.send_message(data);
    wire::Nack nack;
    nack.receiver_request = id;
    nack.offer = wire::OfferType::kStaged;
    intruder.send_message(nack);
    wire::PutDone done;
    done.receiver_request = id;
    intruder.send_message(done);
}

TEST(PipeHostile, WrongBlocksAreIgnored) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 600000;
        Bytes data = rank.rank() == 1 ? content(kBytes, 1) : Bytes(kBytes);
        Ticket ticket;
        if (rank.rank() == 0) {
            rank.receive(ticket, 1, 1, plain(data));
            while (ticket.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(1, 1, true);
            rank.progress(100);
            EXPECT_FALSE(ticket.done);
            EXPECT_EQ(data, Bytes(kBytes));
            EXPECT_GE(log.count("is not the next of its message"), 1);
            EXPECT_EQ(log.count("lies outside its message"), 1);
            EXPECT_EQ(log.count("was asked to move otherwise"), 1);
            rank.reach(2);
        } else {
            rank.send(ticket, 0, 1, plain(data));
            rank.await(0, 1, false);
            Intruder intruder(rank, 0, Intruder::As::kRank);
            send_wrong_blocks(intruder, kFirstId);
            rank.reach(1);
            rank.await(0, 2, false);
        }
        rank.wait(ticket);
        EXPECT_EQ(ticket.outcome().status, Status::kOk);
        EXPECT_EQ(data, content(kBytes, 1));
        rank.barrier();
        check_traffic(rank, 2);
    });
}

// A process that has nothing to do with the message, and blocks for a receive by chunks.
TEST(PipeHostile, BlocksOfOthersAreIgnored) {
    Job job;
    job.size = 3;
    job.params.pml_cuda_ipc = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 600000;
        MessageMemory host(rank.driver(), Kind::kHost, kBytes, 0, false);
        MessageMemory device(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket plain_ticket;
        Ticket staged;
        if (rank.rank() == 0) {
            rank.receive(plain_ticket, 1, 1, host.all());
            rank.receive(staged, 1, 2, device.all());
            while (plain_ticket.outcome().bytes == 0 || staged.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(2, 1, true);
            rank.await(1, 1, true);
            rank.progress(100);
            EXPECT_FALSE(plain_ticket.done);
            EXPECT_FALSE(staged.done);
            EXPECT_EQ(log.count("answers request"), 1);
            EXPECT_EQ(log.count("was asked to move otherwise"), 1);
            rank.reach(2);
        } else if (rank.rank() == 1) {
            host.fill(content(kBytes, 1));
            device.fill(content(kBytes, 2));
            rank.send(plain_ticket, 0, 1, host.all());
            rank.send(staged, 0, 2, device.all());
            rank.await(0, 1, false);
            Intruder intruder(rank, 0, Intruder::As::kRank);
            wire::Data data;
            data.common.flags = wire::kInBlock;
            data.receiver_request = kFirstId + 1;
            data.length = 100;
            intruder.send_message(data);
            rank.reach(1);
            rank.await(0, 2, false);
        } else {
            rank.await(0, 1, false);
            Intruder intruder(rank, 0);
            wire::Data data;
            data.common.flags = wire::kInBlock;
            data.receiver_request = kFirstId;
            data.length = 100;
            intruder.send_message(data);
            rank.reach(1);
        }
        if (rank.rank() != 2) {
            rank.wait(plain_ticket);
            rank.wait(staged);
            EXPECT_TRUE(host.holds(content(kBytes, 1)));
            EXPECT_TRUE(device.holds(content(kBytes, 2)));
        }
        rank.barrier();
    });
}

// Asking for blocks that were not offered, or twice; other answers while blocks are on their way.
TEST(PipeHostile, WrongAnswersAreIgnored) {
    Job job;
    job.params.pml_cuda_ipc = false;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        constexpr std::size_t kBytes = 600000;
        MessageMemory device(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory host(rank.driver(), Kind::kHost, kBytes, 0, false);
        Ticket staged;
        Ticket blocks;
        if (rank.rank() == 0) {
            device.fill(content(kBytes, 1));
            host.fill(content(kBytes, 2));
            rank.send(staged, 1, 1, device.all());
            rank.send(blocks, 1, 2, host.all());
            rank.await(1, 1, true);  // it has asked for the second
            rank.progress(200);
            EXPECT_FALSE(staged.done);
            EXPECT_FALSE(blocks.done);
            EXPECT_EQ(log.count("was not offered so"), 1);
            rank.reach(1);
        } else {
            while (rank.engine().probe(rank.world(), 0, 2) == nullptr) {
                rank.progress(1);
            }
            rank.receive(blocks, 0, 2, host.all());  // asks at once
            Intruder intruder(rank, 0, Intruder::As::kRank);
            for (const std::uint64_t id : {kFirstId, kFirstId + 1}) {
                usleep(2000);
                wire::Cts cts;
                cts.sender_request = id;
                cts.receiver_request = kFirstId + 77;
                cts.bytes = kBytes;
                cts.chunk_bytes = 4096;
                cts.depth = 2;
                cts.choice = wire::OfferType::kShm;
                intruder.send_message(cts);
            }
            wire::Fin fin;
            fin.sender_request = kFirstId + 1;
            intruder.send_message(fin);
            wire::Ack ack;
            ack.sender_request = kFirstId + 1;
            intruder.send_message(ack);
            rank.reach(1);
            rank.await(0, 1, false);
            rank.receive(staged, 0, 1, device.all());
        }
        rank.wait(staged);
        rank.wait(blocks);
        EXPECT_TRUE(device.holds(content(kBytes, 1)));
        EXPECT_TRUE(host.holds(content(kBytes, 2)));
        rank.barrier();
        check_traffic(rank, 3);
    });
}

}  // namespace
}  // namespace beeline::world
