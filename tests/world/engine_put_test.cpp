// SPDX-License-Identifier: BSD-3-Clause
// IPC put between engines: forced and by need, with the sender's mapping failing at every point,
// and peers that forge its messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "support/log_capture.hpp"
#include "tests/world/intruder.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;
using protocol::Path;
using protocol::Reason;

constexpr std::size_t kBytes = 100000;

Job putting() {
    Job job;
    job.params.pml_protocol = static_cast<int>(protocol::Preference::kIpcPut);
    return job;
}

/// One message of device memory from rank 0 to rank 1; the sender's outcome, or the receiver's.
engine::Outcome transfer(Rank& rank, unsigned number, std::size_t bytes, std::size_t room) {
    MessageMemory memory(rank.driver(), Kind::kDevice, rank.rank() == 0 ? bytes : room, number % 7,
                         false);
    Ticket ticket;
    if (rank.rank() == 0) {
        memory.fill(content(bytes, number));
        rank.send(ticket, 1, 0, memory.all());
    } else {
        rank.receive(ticket, 0, 0, memory.all());
    }
    rank.wait(ticket);
    if (rank.rank() == 1) {
        Bytes expected = content(bytes, number);
        expected.resize(std::min(bytes, room));
        EXPECT_TRUE(memory.holds(expected)) << number;
    }
    rank.barrier();
    return ticket.outcome();
}

TEST(EnginePut, MovesEverySize) {
    run_ranks(putting(), [](Rank& rank) {
        unsigned number = 0;
        for (const std::size_t bytes : {1U, 100U, 8192U, 70001U, 3000000U}) {
            const engine::Outcome outcome = transfer(rank, ++number, bytes, bytes + 5);
            EXPECT_EQ(outcome.status, Status::kOk);
            EXPECT_EQ(outcome.path, Path::kCudaIpcPut);
            EXPECT_EQ(outcome.reason, Reason::kDirect);
        }
        EXPECT_EQ(rank.engine().counters().messages[static_cast<std::size_t>(Path::kCudaIpcPut)],
                  rank.rank() == 0 ? 5U : 0U);
        // Truncated: no byte beyond the buffer is written.
        const engine::Outcome outcome = transfer(rank, ++number, 9000, 5000);
        EXPECT_EQ(outcome.status, rank.rank() == 0 ? Status::kOk : Status::kTruncated);
    });
}

TEST(EnginePut, MapsABufferOnce) {
    run_ranks(putting(), [](Rank& rank) {
        MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, false);
        for (unsigned number = 0; number < 20; ++number) {
            Ticket ticket;
            if (rank.rank() == 0) {
                memory.fill(content(kBytes, number));
                rank.send(ticket, 1, 0, memory.all());
            } else {
                rank.receive(ticket, 0, 0, memory.all());
            }
            rank.wait(ticket);
            EXPECT_TRUE(memory.holds(content(kBytes, number)));
            rank.barrier();
        }
        EXPECT_EQ(rank.engine().imports().misses(), rank.rank() == 0 ? 1U : 0U);
        auto* calls =
            reinterpret_cast<unsigned long long (*)(const char*)>(software_entry("softcuda_calls"));
        EXPECT_EQ(calls("cuIpcGetMemHandle"), rank.rank() == 0 ? 0U : 1U) << "exported once";
    });
}

// A receive that is being written to for long asks the driver nothing; a process that waits for
// nothing looks now and then whether what it has exported still exists.
TEST(EnginePut, WaitsWithoutLookingForFreedMemory) {
    run_ranks(putting(), [](Rank& rank) {
        constexpr int kPolls = (1 << 21) + 1;
        auto* calls =
            reinterpret_cast<unsigned long long (*)(const char*)>(software_entry("softcuda_calls"));
        MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket ticket;
        if (rank.rank() == 1) {
            rank.receive(ticket, 0, 0, memory.all());
            while (ticket.outcome().bytes == 0) {
                rank.progress(1);
            }
            const unsigned long long before = calls("cuPointerGetAttribute");
            rank.progress(kPolls);
            EXPECT_FALSE(ticket.done);
            EXPECT_EQ(calls("cuPointerGetAttribute"), before);
            rank.reach(1);
        } else {
            memory.fill(content(kBytes, 3));
            rank.send(ticket, 1, 0, memory.all());
            rank.await(1, 1, false);
        }
        rank.wait(ticket);
        EXPECT_EQ(ticket.outcome().path, Path::kCudaIpcPut);
        EXPECT_TRUE(memory.holds(content(kBytes, 3)));
        if (rank.rank() == 1) {
            const unsigned long long before = calls("cuPointerGetAttribute");
            rank.progress(kPolls);
            EXPECT_EQ(calls("cuPointerGetAttribute"), before + 1) << "the one export";
            rank.reach(2);
        } else {
            rank.await(1, 2, true);
        }
    });
}

struct Failure {
    const char* name;
    const char* fault;   ///< at the sender
    std::size_t staged;  ///< messages of six that are staged
};

class PutFails : public testing::TestWithParam<Failure> {};

// A mapping that cannot be made or used costs that message a detour, and several in a row are the
// end of the attempts.
TEST_P(PutFails, TheMessageIsStaged) {
    Job job = putting();
    job.fault = GetParam().fault;
    job.fault_rank = 0;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        for (unsigned number = 0; number < 6; ++number) {
            const engine::Outcome outcome = transfer(rank, number, kBytes, kBytes);
            EXPECT_EQ(outcome.status, Status::kOk);
            EXPECT_EQ(outcome.path, number < GetParam().staged ? Path::kStaged : Path::kCudaIpcPut)
                << number;
        }
        EXPECT_EQ(log.lines().size(), rank.rank() == 0 ? 1U : 0U);
    });
}

INSTANTIATE_TEST_SUITE_P(Engine, PutFails,
                         testing::Values(Failure{"InFlight", "cuEventQuery:1:719", 1},
                                         Failure{"Opening", "cuIpcOpenMemHandle:1:1", 1}),
                         [](const testing::TestParamInfo<Failure>& failure) {
                             return failure.param.name;
                         });

TEST(EnginePut, IsNotAskedForAgainWhenThePairIsRefused) {
    Job job = putting();
    job.fault = "cuIpcOpenMemHandle:1+:1";
    job.fault_rank = 0;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        for (unsigned number = 0; number < 8; ++number) {
            const engine::Outcome outcome = transfer(rank, number, kBytes, kBytes);
            EXPECT_EQ(outcome.status, Status::kOk);
            EXPECT_EQ(outcome.path, Path::kStaged) << number;
        }
        EXPECT_EQ(rank.engine().imports().misses(), rank.rank() == 0 ? 3U : 0U);
    });
}

/// Sends that wait for their answer, the victim of forged ones; then the real thing.
void under_attack(const Job& job, void (*attack)(Intruder& intruder, std::uint64_t id)) {
    run_ranks(job, [attack](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket ticket;
        if (rank.rank() == 0) {
            memory.fill(content(kBytes, 1));
            rank.send(ticket, 1, 0, memory.all());
            rank.reach(1);
            rank.await(1, 1, true);
            rank.progress(200);
            EXPECT_FALSE(ticket.done);
            rank.reach(2);
        } else {
            rank.await(0, 1, false);
            Intruder intruder(rank, 0, Intruder::As::kRank);
            attack(intruder, kFirstId);
            rank.reach(1);
            rank.await(0, 2, false);
            rank.receive(ticket, 0, 0, memory.all());
        }
        rank.wait(ticket);
        EXPECT_EQ(ticket.outcome().status, Status::kOk);
        EXPECT_TRUE(memory.holds(content(kBytes, 1)));
        rank.barrier();
        transfer(rank, 2, kBytes, kBytes);
    });
}

wire::Put forged_put(std::uint64_t id) {
    wire::Put put;
    put.sender_request = id;
    put.receiver_request = 0x4d00000000;
    put.bytes = 64;
    put.into.base = 0x1000;
    put.into.allocation_bytes = 1 << 20;
    put.into.buffer_id = 77;
    std::memset(put.into.handle.data(), 0x5A, put.into.handle.size());
    return put;
}

// The handle leads nowhere: it cannot be opened, and the send goes on waiting.
TEST(EnginePutHostile, ForgedHandleIsRefused) {
    under_attack(putting(), [](Intruder& intruder, std::uint64_t id) {
        for (int i = 0; i < 5; ++i) {
            intruder.send_message(forged_put(id));
        }
    });
}

TEST(EnginePutHostile, RangesAndRequestsThatDoNotExistAreIgnored) {
    under_attack(putting(), [](Intruder& intruder, std::uint64_t id) {
        wire::Put put = forged_put(id);
        put.into.offset = UINT64_MAX;
        intruder.send_message(put);
        put = forged_put(id);
        put.bytes = UINT64_MAX;
        intruder.send_message(put);
        put = forged_put(id);
        put.bytes = 0;
        intruder.send_message(put);
        intruder.send_message(forged_put(id + 1));
        intruder.send_message(forged_put(0));
        wire::PutDone done;
        for (const std::uint64_t request : {id, id + 1, std::uint64_t{0}}) {
            done.receiver_request = request;
            intruder.send_message(done);
            wire::Nack nack;
            nack.receiver_request = request;
            nack.offer = wire::OfferType::kPut;
            intruder.send_message(nack);
        }
    });
}

// The message was not offered that way: nothing is written, whatever the handle.
TEST(EnginePutHostile, PutThatWasNotOfferedIsIgnored) {
    Job job;
    job.params.pml_cuda_ipc = false;
    under_attack(
        job, [](Intruder& intruder, std::uint64_t id) { intruder.send_message(forged_put(id)); });
}

// Answers of another protocol to a receive that waits to be written to.
TEST(EnginePutHostile, ReceiveThatIsBeingWrittenTakesNothingElse) {
    run_ranks(putting(), [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket ticket;
        if (rank.rank() == 1) {
            rank.receive(ticket, 0, 0, memory.all());
            while (ticket.outcome().bytes == 0) {
                rank.progress(1);
            }
            rank.reach(1);
            rank.await(0, 1, false);
            rank.progress(50);
            EXPECT_FALSE(ticket.done);
            rank.reach(2);
        } else {
            memory.fill(content(kBytes, 3));
            rank.send(ticket, 1, 0, memory.all());
            rank.await(1, 1, false);
            Intruder intruder(rank, 1, Intruder::As::kRank);
            wire::Data data;
            data.receiver_request = kFirstId;
            data.length = 4096;
            intruder.send_message(data);
            wire::Nack nack;
            nack.receiver_request = kFirstId;
            nack.offer = wire::OfferType::kStaged;
            intruder.send_message(nack);
            rank.reach(1);
            rank.await(1, 2, false);
        }
        rank.wait(ticket);
        EXPECT_EQ(ticket.outcome().status, Status::kOk);
        EXPECT_EQ(ticket.outcome().path, Path::kCudaIpcPut);
        EXPECT_TRUE(memory.holds(content(kBytes, 3)));
    });
}

}  // namespace
}  // namespace beeline::world
