// SPDX-License-Identifier: BSD-3-Clause
// Device data with gaps inside a node: packed into the receiver's memory, unpacked out of the
// sender's, or both by way of a buffer on the device; and what else is taken when that fails.
#include <gtest/gtest.h>

#include <deque>

#include "support/log_capture.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;
using protocol::Path;
using protocol::Preference;
using protocol::Reason;

constexpr std::size_t kBytes = 2400000;  // a multiple of the layout's 24

struct Place {
    Kind kind;
    bool gaps;
};
constexpr Place kRow{Kind::kDevice, false};
constexpr Place kGaps{Kind::kDevice, true};

/// One message from rank 0 to rank 1 and its outcome on this side.
engine::Outcome transfer(Rank& rank, Place from, Place to, unsigned number,
                         std::size_t bytes = kBytes, std::size_t room = kBytes) {
    const bool sends = rank.rank() == 0;
    const Place here = sends ? from : to;
    MessageMemory memory(rank.driver(), here.kind, sends ? bytes : room, number % 5, here.gaps,
                         true);
    Ticket ticket;
    if (sends) {
        memory.fill(content(bytes, number));
        rank.send(ticket, 1, 0, memory.all());
    } else {
        rank.receive(ticket, 0, 0, memory.all());
    }
    rank.wait(ticket);
    if (!sends) {
        Bytes expected = content(bytes, number);
        expected.resize(std::min(bytes, room));
        EXPECT_TRUE(memory.holds(expected)) << number;
    }
    EXPECT_EQ(ticket.calls, 1);
    rank.barrier();
    return ticket.outcome();
}

TEST(EnginePush, TheWayDependsOnWhereTheGapsAre) {
    run_ranks(Job{}, [](Rank& rank) {
        const struct {
            Place from;
            Place to;
            Path path;
            Reason reason;  // at the sender
        } rows[] = {
            {kGaps, kRow, Path::kCudaIpcPush, Reason::kDirect},
            {kRow, kGaps, Path::kCudaIpc, Reason::kDirect},
            {kGaps, kGaps, Path::kCudaBounce, Reason::kSenderLayout},
            {{Kind::kManaged, true}, kRow, Path::kCudaIpcPush, Reason::kDirect},
            {{Kind::kManaged, true}, kGaps, Path::kCudaBounce, Reason::kSenderLayout},
            {{Kind::kManaged, false}, kGaps, Path::kCudaBounce, Reason::kBounced},
            {kGaps, {Kind::kManaged, false}, Path::kCudaBounce, Reason::kSenderLayout},
            {kGaps, {Kind::kManaged, true}, Path::kCudaBounce, Reason::kSenderLayout},
            {kRow, {Kind::kManaged, true}, Path::kCudaIpc, Reason::kDirect},
            {kGaps, {Kind::kPinned, false}, Path::kCudaBounce, Reason::kSenderLayout},
            {kRow, {Kind::kPinned, true}, Path::kStaged, Reason::kReceiverLayout},
            {kGaps, {Kind::kPinned, true}, Path::kStaged, Reason::kReceiverHost},
            {kGaps, {Kind::kHost, false}, Path::kStaged, Reason::kReceiverHost},
            {kGaps, {Kind::kHost, true}, Path::kStaged, Reason::kReceiverHost},
            {kRow, {Kind::kHost, true}, Path::kStaged, Reason::kReceiverHost},
            {{Kind::kHost, true}, kGaps, Path::kStaged, Reason::kReceiverDevice},
        };
        unsigned number = 0;
        for (const auto& row : rows) {
            const engine::Outcome outcome = transfer(rank, row.from, row.to, ++number);
            EXPECT_EQ(outcome.status, Status::kOk);
            EXPECT_EQ(outcome.path, row.path) << number << " " << to_string(outcome.path);
            if (rank.rank() == 0) {
                EXPECT_EQ(outcome.reason, row.reason) << number << " " << to_string(outcome.reason);
            }
        }
    });
}

unsigned long long calls(const char* name) {
    return reinterpret_cast<unsigned long long (*)(const char*)>(software_entry("softcuda_calls"))(
        name);
}

TEST(EnginePush, IsOneLaunchAndNoCopy) {
    run_ranks(Job{}, [](Rank& rank) {
        MessageMemory memory(rank.driver(), Kind::kDevice, kBytes, 0, rank.rank() == 0, true);
        // There, and back by the receiver's kernel; the first round sets things up.
        for (unsigned round = 0; round < 3; ++round) {
            if (rank.rank() == 0) {
                memory.fill(content(kBytes, round));
            }
            const unsigned long long launches = calls("cuLaunchKernel");
            const unsigned long long copies = calls("cuMemcpyAsync");
            for (const int sender : {0, 1}) {
                Ticket ticket;
                if (rank.rank() == sender) {
                    rank.send(ticket, 1 - sender, 0, memory.all());
                } else {
                    rank.receive(ticket, sender, 0, memory.all());
                }
                rank.wait(ticket);
                EXPECT_EQ(ticket.outcome().path, sender == 0 ? Path::kCudaIpcPush : Path::kCudaIpc);
                rank.barrier();
            }
            if (round != 0) {
                EXPECT_EQ(calls("cuLaunchKernel") - launches, rank.rank() == 0 ? 2U : 0U);
                EXPECT_EQ(calls("cuMemcpyAsync") - copies, 0U);
            }
            EXPECT_TRUE(memory.holds(content(kBytes, round)));
        }
    });
}

TEST(EnginePush, ShorterReceivesTakeWhatFits) {
    run_ranks(Job{}, [](Rank& rank) {
        unsigned number = 0;
        for (const std::size_t room : {std::size_t{24}, std::size_t{1200000}}) {
            for (const auto& [from, to] :
                 {std::pair(kGaps, kRow), std::pair(kRow, kGaps), std::pair(kGaps, kGaps)}) {
                const engine::Outcome outcome = transfer(rank, from, to, ++number, kBytes, room);
                EXPECT_EQ(outcome.status, rank.rank() == 0 ? Status::kOk : Status::kTruncated);
                if (rank.rank() == 1) {
                    EXPECT_EQ(outcome.bytes, room);
                }
            }
        }
        const engine::Outcome odd = transfer(rank, kGaps, kRow, ++number, kBytes, 1000001);
        EXPECT_EQ(odd.status, rank.rank() == 0 ? Status::kOk : Status::kTruncated);
    });
}

TEST(EnginePush, FollowsTheParameters) {
    const struct {
        bool ipc;
        bool bounce;
        Preference preference;
        Path push;  // from gaps to a row
        Path both;  // from gaps to gaps
    } rows[] = {
        {false, true, Preference::kAuto, Path::kStaged, Path::kStaged},
        {true, false, Preference::kAuto, Path::kCudaIpcPush, Path::kStaged},
        {true, true, Preference::kStaged, Path::kStaged, Path::kStaged},
        {true, true, Preference::kBounce, Path::kCudaBounce, Path::kCudaBounce},
        {true, true, Preference::kIpcPush, Path::kCudaIpcPush, Path::kCudaBounce},
        {true, true, Preference::kIpcGet, Path::kCudaIpcPush, Path::kCudaBounce},
    };
    for (const auto& row : rows) {
        Job job;
        job.params.pml_cuda_ipc = row.ipc;
        job.params.pml_cuda_bounce = row.bounce;
        job.params.pml_protocol = static_cast<int>(row.preference);
        run_ranks(job, [&](Rank& rank) {
            EXPECT_EQ(transfer(rank, kGaps, kRow, 1).path, row.push);
            EXPECT_EQ(transfer(rank, kGaps, kGaps, 2).path, row.both);
        });
    }
}

struct Failure {
    const char* name;
    const char* fault;
    int rank;   ///< -1: both
    Path push;  ///< from gaps to a row
    Path pull;  ///< from a row to gaps
    Path both;
};

class PushFails : public testing::TestWithParam<Failure> {};

TEST_P(PushFails, TheNextBestWayIsTaken) {
    const Failure& failure = GetParam();
    Job job;
    job.fault = failure.fault;
    job.fault_rank = failure.rank;
    run_ranks(job, [&](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        EXPECT_EQ(transfer(rank, kGaps, kRow, 1).path, failure.push);
        EXPECT_EQ(transfer(rank, kRow, kGaps, 2).path, failure.pull);
        EXPECT_EQ(transfer(rank, kGaps, kGaps, 3).path, failure.both);
    });
}

INSTANTIATE_TEST_SUITE_P(
    Engine, PushFails,
    testing::Values(Failure{"OpenBySender", "cuIpcOpenMemHandle:1+:217", 0, Path::kCudaBounce,
                            Path::kCudaIpc, Path::kCudaBounce},
                    Failure{"OpenByReceiver", "cuIpcOpenMemHandle:1+:217", 1, Path::kCudaIpcPush,
                            Path::kStaged, Path::kStaged},
                    Failure{"OpenByBoth", "cuIpcOpenMemHandle:1+:217", -1, Path::kStaged,
                            Path::kStaged, Path::kStaged},
                    Failure{"ExportByReceiver", "cuIpcGetMemHandle:1+:801", 1, Path::kCudaBounce,
                            Path::kCudaIpc, Path::kCudaBounce},
                    Failure{"LaunchBySender", "cuLaunchKernel:1+:701", 0, Path::kCudaIpcPush,
                            Path::kCudaIpc, Path::kCudaBounce},
                    Failure{"NoKernels", "cuModuleLoadData:1+:209", -1, Path::kCudaIpcPush,
                            Path::kCudaIpc, Path::kCudaBounce},
                    Failure{"EndOfThePush", "cuEventQuery:1:719", 0, Path::kCudaBounce,
                            Path::kCudaIpc, Path::kCudaBounce}),
    [](const testing::TestParamInfo<Failure>& failure) { return failure.param.name; });

// Many at once, unexpected ones among them, with few slots of the buffer on the device.
TEST(EnginePush, ManyAtOnce) {
    Job job;
    job.size = 3;
    job.params.pml_bounce_slots = 2;
    job.params.pml_bounce_chunk = 65536;
    run_ranks(job, [](Rank& rank) {
        struct Work {
            std::unique_ptr<MessageMemory> memory;
            Ticket ticket;
            std::size_t bytes;
            unsigned number;
        };
        std::deque<Work> sends;
        std::deque<Work> receives;
        constexpr unsigned kMessages = 6;
        const auto start = [&](bool send, int other, unsigned message) {
            const int from = send ? rank.rank() : other;
            const int to = send ? other : rank.rank();
            Work& work = (send ? sends : receives).emplace_back();
            work.bytes = 240000 + 24 * message;
            work.number = static_cast<unsigned>(100 * from + 10 * to) + message;
            work.memory =
                std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, work.bytes, 0,
                                                send ? message % 3 != 0 : message % 2 != 0, true);
            if (send) {
                work.memory->fill(content(work.bytes, work.number));
                rank.send(work.ticket, other, 1, work.memory->all());
            } else {
                rank.receive(work.ticket, other, 1, work.memory->all());
            }
        };
        for (unsigned message = 0; message < kMessages; ++message) {
            for (int other = 0; other < rank.size(); ++other) {
                if (other != rank.rank()) {
                    start(message < kMessages / 2, other, message % (kMessages / 2));
                }
            }
        }
        for (Work& work : receives) {
            rank.wait(work.ticket);
            EXPECT_TRUE(work.memory->holds(content(work.bytes, work.number))) << work.number;
        }
        for (Work& work : sends) {
            rank.wait(work.ticket);
            EXPECT_EQ(work.ticket.outcome().status, Status::kOk);
        }
        rank.barrier();
    });
}

}  // namespace
}  // namespace beeline::world
