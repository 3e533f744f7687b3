// SPDX-License-Identifier: BSD-3-Clause
// Driver calls that fail: messages take another way or end with an error at both ends, and those
// after them are well.
#include <gtest/gtest.h>

#include <string>

#include "support/log_capture.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;
using protocol::Path;
using protocol::Reason;

constexpr std::size_t kLarge = 100000;

/// How one message ended at both ends; a rank sees its own.
struct Ends {
    engine::Outcome outcome;
    bool right = false;  ///< the receiver's data
};

/// Sends one message from rank 0 to rank 1 on these tickets.
Ends transfer(Rank& rank, Ticket& ticket, Kind from, Kind to, std::size_t bytes, unsigned number,
              bool from_gaps = false) {
    Ends ends;
    ticket.done = false;
    const bool sender = rank.rank() == 0;
    MessageMemory memory(rank.driver(), sender ? from : to, bytes, 0, sender && from_gaps);
    if (sender) {
        memory.fill(content(bytes, number));
        EXPECT_EQ(rank.send(ticket, 1, 5, memory.all()), Status::kOk);
    } else {
        EXPECT_EQ(rank.receive(ticket, 0, 5, memory.all()), Status::kOk);
    }
    rank.wait(ticket);
    ends.outcome = ticket.outcome();
    ends.right = sender || memory.holds(content(bytes, number));
    rank.barrier();
    return ends;
}

unsigned long long calls(const char* name) {
    auto* count =
        reinterpret_cast<unsigned long long (*)(const char*)>(software_entry("softcuda_calls"));
    return count(name);
}

/// Makes copies until the next one is number `nth` of this process.
void copies_until(const Rank& rank, unsigned long long nth) {
    Buffer here(*rank.driver(), Kind::kDevice, 64, 0);
    ASSERT_LT(calls("cuMemcpyAsync"), nth);
    while (calls("cuMemcpyAsync") + 1 < nth) {
        here.write(Bytes(64));
    }
}

Job with_fault(const char* fault, int rank) {
    Job job;
    job.fault = fault;
    job.fault_rank = rank;
    job.params.pml_staging_chunk = 16384;
    return job;
}

TEST(EnginePaths, AreTheOnesTheTablePromises) {
    Job job;
    run_ranks(job, [](Rank& rank) {
        const struct {
            Kind from;
            Kind to;
            std::size_t bytes;
            Path path;
            Reason reason;
        } rows[] = {
            {Kind::kHost, Kind::kHost, 8, Path::kShm, Reason::kSmall},
            {Kind::kDevice, Kind::kDevice, 8, Path::kShm, Reason::kSmall},
            {Kind::kHost, Kind::kHost, 20000, Path::kShm, Reason::kSmall},
            {Kind::kHost, Kind::kDevice, 20000, Path::kShm, Reason::kSmall},
            {Kind::kHost, Kind::kHost, 300000, Path::kShm, Reason::kHostMemory},
            {Kind::kDevice, Kind::kDevice, kLarge, Path::kCudaIpc, Reason::kDirect},
            {Kind::kDevice, Kind::kHost, kLarge, Path::kStaged, Reason::kReceiverHost},
            {Kind::kHost, Kind::kDevice, 300000, Path::kStaged, Reason::kReceiverDevice},
            {Kind::kManaged, Kind::kDevice, kLarge, Path::kCudaIpcPut, Reason::kDirect},
            {Kind::kManaged, Kind::kManaged, kLarge, Path::kCudaBounce, Reason::kBounced},
            {Kind::kDevice, Kind::kManaged, kLarge, Path::kCudaIpc, Reason::kDirect},
            {Kind::kManaged, Kind::kHost, kLarge, Path::kStaged, Reason::kReceiverHost},
            {Kind::kDevice, Kind::kPinned, kLarge, Path::kCudaIpc, Reason::kDirect},
            {Kind::kManaged, Kind::kPinned, kLarge, Path::kStaged, Reason::kReceiverHost},
            {Kind::kManaged, Kind::kPinned, 3000000, Path::kCudaBounce, Reason::kBounced},
        };
        Ticket ticket;
        unsigned number = 0;
        for (const auto& row : rows) {
            const Ends ends = transfer(rank, ticket, row.from, row.to, row.bytes, ++number);
            EXPECT_EQ(ends.outcome.status, Status::kOk);
            EXPECT_TRUE(ends.right) << number;
            if (rank.rank() == 0) {
                EXPECT_EQ(ends.outcome.path, row.path) << number;
                EXPECT_EQ(ends.outcome.reason, row.reason) << number;
                const auto& counters = rank.engine().counters();
                EXPECT_GE(counters.messages[static_cast<std::size_t>(row.path)], 1U);
            }
        }
        if (rank.rank() == 0) {
            std::uint64_t sum = 0;
            for (const auto count : rank.engine().counters().messages) {
                sum += count;
            }
            EXPECT_EQ(sum, std::size(rows)) << "each message is counted once";
        }
    });
}

// The receiver being on the host is no reason to doubt the handle.
TEST(EngineCost, RefusedOffersAreNotExportedAnew) {
    Job job;
    run_ranks(job, [](Rank& rank) {
        MessageMemory memory(rank.driver(), rank.rank() == 0 ? Kind::kDevice : Kind::kHost, kLarge,
                             0, false);
        for (int i = 0; i < 5; ++i) {
            Ticket ticket;
            if (rank.rank() == 0) {
                rank.send(ticket, 1, 0, memory.all());
            } else {
                rank.receive(ticket, 0, 0, memory.all());
            }
            rank.wait(ticket);
        }
        if (rank.rank() == 0) {
            EXPECT_EQ(calls("cuIpcGetMemHandle"), 1U);
        }
    });
}

struct Refusal {
    const char* name;
    const char* fault;
    int rank;  ///< -1: both
    Path path;
    Reason reason;
    const char* call;  ///< what the one warning names
    unsigned tries;    ///< messages before the pair is refused
    CUresult error;
};

class Refused : public testing::TestWithParam<Refusal> {};

// Where one side cannot, the other does it for both; where neither can, chunks go through the host.
TEST_P(Refused, DeviceMessagesTakeTheNextWayWithOneWarning) {
    const Refusal& refusal = GetParam();
    run_ranks(with_fault(refusal.fault, refusal.rank), [&](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        Ticket ticket;
        for (unsigned number = 0; number < 5; ++number) {
            const Ends ends = transfer(rank, ticket, Kind::kDevice, Kind::kDevice, kLarge, number);
            EXPECT_EQ(ends.outcome.status, Status::kOk);
            EXPECT_TRUE(ends.right);
            if (rank.rank() == 0) {
                EXPECT_EQ(ends.outcome.path, refusal.path);
                // After a few failures the pair's verdict stands, and the driver is not asked
                // again.
                EXPECT_EQ(ends.outcome.reason,
                          number < refusal.tries ? refusal.reason : Reason::kRefused);
            }
        }
        if (rank.rank() == 0) {
            EXPECT_EQ(rank.engine().counters().fallbacks[static_cast<std::size_t>(refusal.reason)],
                      protocol::is_fallback(refusal.reason) ? std::min(refusal.tries, 5U) : 0U);
        } else if (refusal.error != CUDA_SUCCESS) {
            ASSERT_EQ(rank.engine().verdicts().all().size(), 1U);
            EXPECT_TRUE(rank.engine().verdicts().all()[0].refused);
            EXPECT_EQ(rank.engine().verdicts().all()[0].reason, refusal.error);
            EXPECT_LE(calls("cuIpcOpenMemHandle"), 3U);
        }
        const bool refused = refusal.rank < 0 || rank.rank() == refusal.rank;
        EXPECT_EQ(log.lines().size(), refused ? 1U : 0U);
        EXPECT_EQ(log.count(refusal.call), refused ? 1 : 0);
    });
}

INSTANTIATE_TEST_SUITE_P(
    Engine, Refused,
    testing::Values(Refusal{"OpenByReceiver", "cuIpcOpenMemHandle:1+:1", 1, Path::kCudaIpcPut,
                            Reason::kDirect, "cuIpcOpenMemHandle", 9, CUDA_ERROR_INVALID_VALUE},
                    Refusal{"OpenByBoth", "cuIpcOpenMemHandle:1+:1", -1, Path::kStaged,
                            Reason::kOpenFailed, "cuIpcOpenMemHandle", 3, CUDA_ERROR_INVALID_VALUE},
                    Refusal{"NoPeerAccess", "cuIpcOpenMemHandle:1+:217", -1, Path::kStaged,
                            Reason::kOpenFailed, "cuIpcOpenMemHandle", 1,
                            CUDA_ERROR_PEER_ACCESS_UNSUPPORTED},
                    Refusal{"ExportBySender", "cuIpcGetMemHandle:1+:801", 0, Path::kCudaIpcPut,
                            Reason::kDirect, "cuIpcGetMemHandle", 9, CUDA_SUCCESS},
                    Refusal{"ExportByBoth", "cuIpcGetMemHandle:1+:801", -1, Path::kStaged,
                            Reason::kExportFailed, "cuIpcGetMemHandle", 9, CUDA_SUCCESS}),
    [](const testing::TestParamInfo<Refusal>& refusal) { return refusal.param.name; });

TEST(EngineFaults, MemoryThatIsNotRegisteredServesAllTheSame) {
    for (const bool shm : {true, false}) {
        Job job = with_fault("cuMemHostRegister:1+:2", -1);
        job.params.pml_shm = shm;
        run_ranks(job, [](Rank& rank) {
            const test::LogCapture log(LogLevel::kWarning);
            Ticket ticket;
            unsigned number = 0;
            for (const std::size_t bytes : {std::size_t{100}, kLarge}) {
                for (const Kind to : {Kind::kHost, Kind::kDevice}) {
                    for (const Kind from : {Kind::kHost, Kind::kDevice}) {
                        const Ends ends = transfer(rank, ticket, from, to, bytes, ++number);
                        EXPECT_EQ(ends.outcome.status, Status::kOk);
                        EXPECT_TRUE(ends.right);
                    }
                }
            }
            EXPECT_EQ(log.lines().size(), 1U);
            EXPECT_EQ(log.count("cuMemHostRegister"), 1);
        });
    }
}

TEST(EngineFaults, PullThatFailsInFlightIsStaged) {
    run_ranks(with_fault("cuEventQuery:1:719", 1), [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        MessageMemory memory(rank.driver(), Kind::kDevice, kLarge, 0, false);
        for (unsigned number = 0; number < 3; ++number) {
            Ticket ticket;
            if (rank.rank() == 0) {
                memory.fill(content(kLarge, number));
                rank.send(ticket, 1, 0, memory.all());
            } else {
                rank.receive(ticket, 0, 0, memory.all());
            }
            rank.wait(ticket);
            EXPECT_EQ(ticket.outcome().status, Status::kOk);
            EXPECT_TRUE(memory.holds(content(kLarge, number)));
            if (rank.rank() == 0) {
                EXPECT_EQ(ticket.outcome().path, number == 0 ? Path::kStaged : Path::kCudaIpc);
                EXPECT_EQ(ticket.outcome().reason,
                          number == 0 ? Reason::kCopyFailed : Reason::kDirect);
            }
            rank.barrier();
        }
        EXPECT_EQ(log.lines().size(), rank.rank() == 1 ? 1U : 0U);
        if (rank.rank() == 1) {
            EXPECT_EQ(rank.engine().imports().misses(), 2U) << "a mapping that failed is not kept";
        }
    });
}

// A mapping dies with the context it was made in.
TEST(EngineFaults, MappingsOfAResetDeviceAreMadeAnew) {
    run_ranks(with_fault("", 1), [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        auto memory =
            std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, kLarge, 0, false);
        for (unsigned number = 0; number < 4; ++number) {
            Ticket ticket;
            if (rank.rank() == 0) {
                memory->fill(content(kLarge, number));
                rank.send(ticket, 1, 0, memory->all());
            } else {
                rank.receive(ticket, 0, 0, memory->all());
            }
            rank.wait(ticket);
            EXPECT_EQ(ticket.outcome().status, Status::kOk);
            EXPECT_TRUE(memory->holds(content(kLarge, number)));
            if (rank.rank() == 0 && number != 1) {
                EXPECT_EQ(ticket.outcome().path, Path::kCudaIpc) << number;
            }
            if (rank.rank() == 1 && number == 0) {
                memory.reset();
                reset_device(*rank.driver(), 1);
                use_device(*rank.driver(), 1);
                memory =
                    std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, kLarge, 0, false);
            }
            rank.barrier();
        }
    });
}

struct Unreadable {
    const char* name;
    bool shm;
    std::size_t bytes;
    bool gaps;
};

class SenderCannotRead : public testing::TestWithParam<Unreadable> {};

// The sender's memory cannot be read: both ends learn of it, and the messages after it arrive.
TEST_P(SenderCannotRead, BothEndsFailAndTheNextArrives) {
    const Unreadable& what = GetParam();
    Job job = with_fault("cuMemcpyAsync:100:719", 0);
    job.params.pml_shm = what.shm;
    job.params.pml_cuda_ipc = false;
    job.seconds = 20;
    run_ranks(job, [&](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        const bool sender = rank.rank() == 0;
        MessageMemory memory(rank.driver(), sender ? Kind::kDevice : Kind::kHost, what.bytes, 0,
                             sender && what.gaps);
        Ticket ticket;
        if (sender) {
            memory.fill(content(what.bytes, 1));
            copies_until(rank, 100);
            EXPECT_EQ(rank.send(ticket, 1, 0, memory.all()), Status::kOk);
        } else {
            EXPECT_EQ(rank.receive(ticket, 0, 0, memory.all()), Status::kOk);
        }
        rank.wait(ticket);
        EXPECT_EQ(ticket.calls, 1);
        EXPECT_EQ(ticket.outcome().status, Status::kDriver);
        EXPECT_EQ(log.lines().size(), sender ? 1U : 0U);
        for (unsigned number = 2; number < 5; ++number) {  // on the same request
            ticket.done = false;
            if (sender) {
                memory.fill(content(what.bytes, number));
                rank.send(ticket, 1, 0, memory.all());
            } else {
                rank.receive(ticket, 0, 0, memory.all());
            }
            rank.wait(ticket);
            EXPECT_EQ(ticket.outcome().status, Status::kOk);
            EXPECT_TRUE(memory.holds(content(what.bytes, number)));
            rank.barrier();
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Engine, SenderCannotRead,
                         testing::Values(Unreadable{"SmallByShm", true, 480, false},
                                         Unreadable{"SmallByUcx", false, 480, false},
                                         Unreadable{"SmallWithGapsByShm", true, 480, true},
                                         Unreadable{"SmallWithGapsByUcx", false, 480, true},
                                         Unreadable{"LargeWithGapsByShm", true, 96000, true},
                                         Unreadable{"LargeWithGapsByUcx", false, 96000, true},
                                         Unreadable{"LargeByShm", true, 96000, false},
                                         Unreadable{"LargeByUcx", false, 96000, false}),
                         [](const testing::TestParamInfo<Unreadable>& what) {
                             return what.param.name;
                         });

TEST(EngineFaults, UnreadableMessageToItself) {
    Job job = with_fault("cuMemcpyAsync:100:719", 0);
    job.size = 1;
    run_ranks(job, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        MessageMemory from(rank.driver(), Kind::kDevice, 400, 0, false);
        MessageMemory to(rank.driver(), Kind::kHost, 400, 0, false);
        from.fill(content(400, 1));
        copies_until(rank, 100);
        for (unsigned number = 0; number < 2; ++number) {
            Ticket send;
            Ticket receive;
            rank.send(send, 0, 0, from.all());
            rank.receive(receive, 0, 0, to.all());
            rank.wait(send);
            rank.wait(receive);
            const Status expected = number == 0 ? Status::kDriver : Status::kOk;
            EXPECT_EQ(send.outcome().status, expected);
            EXPECT_EQ(receive.outcome().status, expected);
        }
        EXPECT_TRUE(to.holds(content(400, 1)));
    });
}

struct Late {
    const char* name;
    bool shm;
    int rank;
    int copy;  ///< of the chunks' copies, which one fails
};

class StagedCopyFails : public testing::TestWithParam<Late> {};

TEST_P(StagedCopyFails, RequestsEndAndCanBeUsedAgain) {
    const Late& late = GetParam();
    Job job = with_fault("cuMemcpyAsync:100:719", late.rank);
    job.params.pml_shm = late.shm;
    job.params.pml_cuda_ipc = false;
    job.seconds = 20;
    run_ranks(job, [&](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        const bool sender = rank.rank() == 0;
        MessageMemory memory(rank.driver(), Kind::kDevice, kLarge, 0, false);
        Ticket ticket;
        if (sender) {
            memory.fill(content(kLarge, 1));
        }
        if (rank.rank() == late.rank) {
            copies_until(rank, 100U - static_cast<unsigned>(late.copy));
        }
        rank.barrier();
        for (unsigned number = 1; number < 4; ++number) {
            ticket.done = false;
            if (sender) {
                if (number != 1) {
                    memory.fill(content(kLarge, number));
                }
                rank.send(ticket, 1, 0, memory.all());
            } else {
                rank.receive(ticket, 0, 0, memory.all());
            }
            rank.wait(ticket);
            EXPECT_EQ(ticket.calls, static_cast<int>(number));
            // Where the receiver's copy fails the sender has done its part.
            const bool fails = number == 1 && (late.rank == 0 || !sender);
            EXPECT_EQ(ticket.outcome().status, fails ? Status::kDriver : Status::kOk) << number;
            if (!fails) {
                EXPECT_TRUE(memory.holds(content(kLarge, number))) << number;
            }
            rank.barrier();
        }
        EXPECT_EQ(log.lines().size(), rank.rank() == late.rank ? 1U : 0U);
    });
}

INSTANTIATE_TEST_SUITE_P(Engine, StagedCopyFails,
                         testing::Values(Late{"FirstAtTheSenderByShm", true, 0, 0},
                                         Late{"FourthAtTheSenderByShm", true, 0, 3},
                                         Late{"LastAtTheSenderByShm", true, 0, 6},
                                         Late{"FourthAtTheSenderByUcx", false, 0, 3},
                                         Late{"FirstAtTheReceiverByShm", true, 1, 0},
                                         Late{"LastAtTheReceiverByShm", true, 1, 6},
                                         Late{"FourthAtTheReceiverByUcx", false, 1, 3}),
                         [](const testing::TestParamInfo<Late>& late) { return late.param.name; });

// Both ends fail in one message: neither remembers it in the next on the same request.
TEST(EngineFaults, BothEndsFailAndTheRequestsAreUsedAgain) {
    for (const bool shm : {true, false}) {
        Job job = with_fault("cuMemcpyAsync:100:719", -1);
        job.params.pml_shm = shm;
        job.params.pml_cuda_ipc = false;
        job.seconds = 20;
        run_ranks(job, [&](Rank& rank) {
            const test::LogCapture log(LogLevel::kWarning);
            const bool sender = rank.rank() == 0;
            MessageMemory memory(rank.driver(), Kind::kDevice, kLarge, 0, false);
            MessageMemory again(rank.driver(), Kind::kDevice, kLarge, 0, false);
            if (sender) {
                again.fill(content(kLarge, 2));
            }
            Ticket ticket;
            // The receiver's second copy fails, the sender's last but one.
            copies_until(rank, sender ? 95 : 99);
            rank.barrier();
            for (int round = 0; round < 2; ++round) {
                ticket.done = false;
                MessageMemory& here = round == 0 ? memory : again;
                if (sender) {
                    rank.send(ticket, 1, 0, here.all());
                } else {
                    rank.receive(ticket, 0, 0, here.all());
                }
                rank.wait(ticket);
                EXPECT_EQ(ticket.outcome().status, round == 0 ? Status::kDriver : Status::kOk);
                rank.barrier();
            }
            EXPECT_TRUE(again.holds(content(kLarge, 2)));
        });
    }
}

}  // namespace
}  // namespace beeline::world
