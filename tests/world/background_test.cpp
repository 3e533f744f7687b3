// SPDX-License-Identifier: BSD-3-Clause
// A thread beside the engine's callers: what it may do alone, and what it leaves to them.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "engine/background.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;

constexpr std::size_t kBytes = 300000;

std::uint64_t sent(Rank& rank) {
    const engine::Engine::Guard guard(rank.engine());
    std::uint64_t sum = 0;
    for (const std::uint64_t each : rank.engine().counters().messages) {
        sum += each;
    }
    return sum;
}

/// Waits without making progress.
template <class Condition>
bool becomes(Condition&& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > limit) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

std::unique_ptr<engine::Background> start(Rank& rank) {
    auto made = engine::Background::start(rank.engine());
    EXPECT_TRUE(made.ok());
    return made ? std::move(*made) : nullptr;
}

/// One message to rank 1, expected there; both ranks only look at memory until it is done.
void one_message(Rank& rank, Kind from, Kind to, int tag, bool gaps) {
    const Bytes data = content(kBytes, static_cast<unsigned>(tag));
    const auto driver = [&](Kind kind) { return kind == Kind::kHost ? nullptr : rank.driver(); };
    const auto step = static_cast<std::uint64_t>(tag) * 10;
    Ticket ticket;
    if (rank.rank() == 0) {
        MessageMemory memory(driver(from), from, kBytes, 1, gaps);
        memory.fill(data);
        rank.await(1, step + 1, false);
        const std::uint64_t before = sent(rank);
        EXPECT_EQ(rank.send(ticket, 1, tag, memory.all()), Status::kOk);
        EXPECT_TRUE(becomes([&] { return sent(rank) > before; })) << "tag " << tag;
        EXPECT_FALSE(ticket.done) << "told by the thread";
        rank.progress(1);
        EXPECT_TRUE(ticket.done);
        rank.reach(step + 2);
        return;
    }
    MessageMemory memory(driver(to), to, kBytes, 0, gaps);
    EXPECT_EQ(rank.receive(ticket, 0, tag, memory.all()), Status::kOk);
    rank.reach(step + 1);
    rank.await(0, step + 2, false);  // the sender knows, so the data is here
    EXPECT_FALSE(ticket.done) << "told by the thread";
    rank.wait(ticket);
    EXPECT_EQ(ticket.calls, 1);
    EXPECT_EQ(ticket.outcome().status, Status::kOk);
    EXPECT_TRUE(memory.holds(data)) << "tag " << tag;
}

TEST(Background, MessagesCompleteWithoutTheirOwners) {
    Job job;
    run_ranks(job, [](Rank& rank) {
        auto background = start(rank);
        rank.barrier();
        int tag = 0;
        for (const Kind from : {Kind::kHost, Kind::kDevice, Kind::kManaged}) {
            for (const Kind to : {Kind::kHost, Kind::kDevice, Kind::kManaged}) {
                one_message(rank, from, to, ++tag, false);
            }
        }
        one_message(rank, Kind::kHost, Kind::kHost, ++tag, true);
        rank.barrier();
    });
}

TEST(Background, StagedMessagesToo) {
    Job job;
    job.params.pml_cuda_ipc = false;
    job.params.pml_staging_chunk = 16384;
    run_ranks(job, [](Rank& rank) {
        auto background = start(rank);
        rank.barrier();
        one_message(rank, Kind::kDevice, Kind::kDevice, 1, false);
        rank.barrier();
    });
}

/// Only the host can say who an unknown sender is: such a message waits for a caller, in order.
TEST(Background, LeavesUnknownSendersToTheHost) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        constexpr int kMessages = 20;
        auto background = start(rank);
        rank.barrier();
        if (rank.rank() == 0) {
            Bytes out[kMessages];
            Ticket tickets[kMessages];
            rank.await(1, 1, false);
            for (int i = 0; i < kMessages; ++i) {
                out[i] = content(static_cast<std::size_t>(1 + i * 3000), static_cast<unsigned>(i));
                EXPECT_EQ(rank.send(tickets[i], 1, 3, {out[i].data(), out[i].size(), 0, nullptr}),
                          Status::kOk);
            }
            rank.reach(1);
            for (const Ticket& ticket : tickets) {
                rank.wait(ticket);
            }
        } else {
            Bytes in[kMessages];
            Ticket tickets[kMessages];
            Bytes large(kBytes);
            Ticket keeps_awake;
            rank.receive(keeps_awake, match::kAnySource, 9, {large.data(), kBytes, 0, nullptr});
            for (int i = 0; i < kMessages; ++i) {
                in[i].resize(100000);
                EXPECT_EQ(rank.receive(tickets[i], match::kAnySource, 3,
                                       {in[i].data(), in[i].size(), 0, nullptr}),
                          Status::kOk);
            }
            rank.reach(1);
            rank.await(0, 1, false);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            for (int i = 0; i < kMessages; ++i) {
                rank.wait(tickets[i]);
                const auto bytes = static_cast<std::size_t>(1 + i * 3000);
                EXPECT_EQ(tickets[i].outcome().bytes, bytes) << i;
                in[i].resize(bytes);
                EXPECT_EQ(in[i], content(bytes, static_cast<unsigned>(i))) << i;
            }
            const engine::Engine::Guard guard(rank.engine());
            EXPECT_TRUE(rank.engine().cancel(keeps_awake.request));
        }
        rank.barrier();
    });
}

/// Started and ended many times over, with and without work, and in a child process.
TEST(Background, ComesAndGoes) {
    Job job;
    job.cuda = false;
    run_ranks(job, [](Rank& rank) {
        for (int round = 0; round < 50; ++round) {
            Bytes out = content(kBytes, static_cast<unsigned>(round));
            Bytes in(kBytes);
            Ticket sending;
            Ticket receiving;
            const int other = 1 - rank.rank();
            auto background = start(rank);
            rank.receive(receiving, other, round, {in.data(), kBytes, 0, nullptr});
            rank.send(sending, other, round, {out.data(), kBytes, 0, nullptr});
            if (round % 2 == 0) {
                background.reset();
            }
            rank.wait(receiving);
            rank.wait(sending);
            EXPECT_EQ(in, out) << "round " << round;
            EXPECT_EQ(sending.calls + receiving.calls, 2);
            rank.barrier();
        }
    });
}

}  // namespace
}  // namespace beeline::world
