// SPDX-License-Identifier: BSD-3-Clause
// RDMA between two engines of one process: writes and reads of every size, several rails, both
// sides connecting at once.
#include "support/log_capture.hpp"
#include "tests/world/rdma_nodes.hpp"

namespace beeline::world {
namespace {

class EngineRdma : public testing::TestWithParam<Preference> {};

TEST_P(EngineRdma, MovesEverySize) {
    const Preference preference = GetParam();
    for (const unsigned cards : {1U, 3U}) {
        with_cards(cards, [preference](Rank& rank) {
            Nodes nodes(params_for(preference));
            unsigned number = 0;
            for (const std::size_t bytes : {1U, 100U, 8193U, 70001U, 65536U, 131072U, 3000001U}) {
                const Ends ends = transfer(nodes, rank, ++number, bytes);
                for (const engine::Outcome& outcome : {ends.sent, ends.received}) {
                    EXPECT_EQ(outcome.status, Status::kOk);
                    EXPECT_EQ(outcome.path, Path::kRdma) << bytes;
                    EXPECT_EQ(outcome.reason, Reason::kDirect);
                }
            }
            EXPECT_EQ(nodes.by(Path::kRdma), number);
            const Ends cut =
                transfer(nodes, rank, ++number, 90000, Kind::kDevice, Kind::kDevice, 50000);
            EXPECT_EQ(cut.sent.status, Status::kOk);
            EXPECT_EQ(cut.received.status, Status::kTruncated);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Protocol, EngineRdma,
                         testing::Values(Preference::kRdmaWrite, Preference::kRdmaRead),
                         [](const auto& each) {
                             return each.param == Preference::kRdmaRead ? "Read" : "Write";
                         });

TEST(EngineRdmaWays, LargeMessagesUseEveryRailAndSmallOnesTheFirst) {
    with_cards(2, [](Rank& rank) {
        Nodes nodes(params_for());
        transfer(nodes, rank, 1, 20000);
        const std::uint64_t first = FakeCards::bytes(0);
        const std::uint64_t second = FakeCards::bytes(1);
        transfer(nodes, rank, 2, 40000);
        EXPECT_EQ(FakeCards::bytes(0) - first, 40000U);
        EXPECT_EQ(FakeCards::bytes(1), second);
        transfer(nodes, rank, 3, 1 << 20);
        EXPECT_EQ(FakeCards::bytes(0) - first, 40000U + (1U << 19));
        EXPECT_EQ(FakeCards::bytes(1) - second, 1U << 19);
        EXPECT_LE(FakeCards::signalled(1), 3U) << "a test, and a message of eight requests";
    });
}

TEST(EngineRdmaWays, ABufferIsRegisteredOnce) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        std::uint64_t after_first = 0;
        for (unsigned number = 0; number < 10; ++number) {
            exchange(nodes, out, in, number);
            if (number == 0) {
                after_first = FakeCards::registrations();
            }
        }
        EXPECT_EQ(FakeCards::registrations(), after_first);
        EXPECT_EQ(nodes[0].rdma_counters().registered_again, 9U);
    });
}

TEST(EngineRdmaWays, HostMemoryOnOneSideIsRegisteredForLargeMessages) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        unsigned number = 0;
        for (const Kind host : {Kind::kHost, Kind::kPinned}) {
            EXPECT_EQ(transfer(nodes, rank, ++number, 300000, Kind::kDevice, host).received.path,
                      Path::kRdma);
            EXPECT_EQ(transfer(nodes, rank, ++number, 300000, host, Kind::kDevice).sent.path,
                      Path::kRdma);
            // What is not worth that is read into a chunk, which is registered for good.
            const engine::Outcome read =
                transfer(nodes, rank, ++number, 30000, Kind::kDevice, host).received;
            EXPECT_EQ(read.path, Path::kRdma);
            EXPECT_EQ(read.reason, Reason::kReceiverHost);
            EXPECT_EQ(transfer(nodes, rank, ++number, 30000, host, Kind::kDevice).received.path,
                      Path::kStaged);
        }
    });
}

TEST(EngineRdmaWays, HostTrafficOpensNoCard) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        transfer(nodes, rank, 1, 1000000, Kind::kHost, Kind::kHost);
        transfer(nodes, rank, 2, 100, Kind::kHost, Kind::kDevice);
        EXPECT_EQ(FakeCards::queues(), 0U);
        EXPECT_EQ(FakeCards::registrations(), 0U);
        EXPECT_EQ(nodes[0].rdma_counters().rail_count, 0U);
    });
}

TEST(EngineRdmaWays, BothSidesMayConnectAtOnce) {
    with_cards(2, [](Rank& rank) {
        Nodes nodes(params_for());
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        out.fill(content(kBytes, 1));
        MessageMemory in[2] = {{rank.driver(), Kind::kDevice, kBytes, 0, false},
                               {rank.driver(), Kind::kDevice, kBytes, 3, false}};
        Ticket send[2];
        Ticket receive[2];
        for (int side = 0; side < 2; ++side) {
            nodes.receive(side, receive[side], in[side]);
            nodes.send(side, send[side], out);
        }
        for (int side = 0; side < 2; ++side) {
            nodes.wait(receive[side]);
            nodes.wait(send[side]);
            EXPECT_EQ(receive[side].outcome().path, Path::kRdma);
            EXPECT_TRUE(in[side].holds(content(kBytes, 1)));
            EXPECT_EQ(nodes[side].rdma_counters().connections, 1U);
        }
        EXPECT_EQ(FakeCards::pairs(), 8U) << "two of each side on each rail";
    });
}

// Large messages take the queue pairs of a rail in turn; where the two ends have not as many, those
// that both have.
TEST(EngineRdmaWays, LargeMessagesTakeTheQueuePairsInTurn) {
    for (const int theirs : {3, 2}) {
        with_cards(2, [theirs](Rank& rank) {
            config::Params params = params_for();
            params.pml_rdma_pairs = 3;
            config::Params other = params;
            other.pml_rdma_pairs = theirs;
            Nodes nodes(params, 2, {}, &other);
            constexpr unsigned kMessages = 24;
            for (unsigned number = 0; number < kMessages; ++number) {
                EXPECT_EQ(transfer(nodes, rank, number, kBytes).received.path, Path::kRdma);
            }
            const auto pairs = static_cast<std::size_t>(theirs);
            EXPECT_EQ(FakeCards::pairs(), 2 * 2 * (1 + pairs)) << "by side and rail";
            // One rail is enough for such a message. Each pair moved a pattern besides.
            const std::uint64_t each = kMessages / pairs;
            EXPECT_EQ(FakeCards::pairs_at_work(1 + each), pairs);
        });
    }
}

// Many messages at once, more than a queue pair takes, end each once and right.
TEST(EngineRdmaWays, ManyMessagesAtOnce) {
    with_cards(2, [](Rank& rank) {
        config::Params params = params_for();
        params.pml_rdma_unit = 4096;
        params.pml_rdma_receives = 64;
        Nodes nodes(params);
        constexpr int kMessages = 100;
        std::vector<std::unique_ptr<MessageMemory>> in;
        std::vector<std::unique_ptr<MessageMemory>> out;
        std::vector<std::unique_ptr<Ticket>> tickets;
        for (int i = 0; i < kMessages; ++i) {
            const std::size_t bytes = 9000 + 7000 * static_cast<std::size_t>(i % 40);
            in.push_back(
                std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, bytes, 0, false));
            out.push_back(
                std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, bytes, 0, false));
            out.back()->fill(content(bytes, static_cast<unsigned>(i)));
            tickets.push_back(std::make_unique<Ticket>());
            nodes.send(0, *tickets.back(), *out.back());
            tickets.push_back(std::make_unique<Ticket>());
            nodes.receive(1, *tickets.back(), *in.back());
        }
        for (const auto& ticket : tickets) {
            nodes.wait(*ticket);
            EXPECT_EQ(ticket->outcome().path, Path::kRdma);
            EXPECT_EQ(ticket->calls, 1);
        }
        for (int i = 0; i < kMessages; ++i) {
            const std::size_t bytes = 9000 + 7000 * static_cast<std::size_t>(i % 40);
            EXPECT_TRUE(
                in[static_cast<std::size_t>(i)]->holds(content(bytes, static_cast<unsigned>(i))));
        }
    });
}

// More peers than connections: the one that was not used for longest makes room.
TEST(EngineRdmaWays, ConnectionsAreBounded) {
    with_cards(2, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        config::Params params = params_for();
        params.pml_rdma_connections = 1;
        Nodes nodes(params, 3);
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        for (unsigned number = 0; number < 9; ++number) {
            const int from = static_cast<int>(number % 3);
            const int to = (from + 1) % 3;
            Ticket send;
            Ticket receive;
            out.fill(content(kBytes, number));
            nodes.receive(to, receive, in, from);
            nodes.send(from, send, out, to);
            nodes.wait(receive);
            nodes.wait(send);
            EXPECT_EQ(receive.outcome().path, Path::kRdma) << number;
            EXPECT_TRUE(in.holds(content(kBytes, number)));
            nodes.progress_for(100);
            EXPECT_LE(FakeCards::pairs(), 12U)
                << "two ends on two rails, and one at most left over";
        }
        EXPECT_EQ(log.lines().size(), 0U);
    });
}

// A connection that nobody uses is closed, and made anew when it is wanted.
TEST(EngineRdmaWays, IdleConnectionsAreClosed) {
    with_cards(1, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        config::Params params = params_for();
        params.pml_rdma_idle = 1;
        Nodes nodes(params);
        transfer(nodes, rank, 1, kBytes);
        nodes.progress_for(3 << 14);
        EXPECT_EQ(FakeCards::pairs(), 4U);
        while (nodes[0].rdma_counters().closed + nodes[1].rdma_counters().closed == 0) {
            nodes.progress();
        }
        nodes.progress_for(100);
        EXPECT_EQ(FakeCards::pairs(), 0U);
        EXPECT_EQ(transfer(nodes, rank, 2, kBytes).received.path, Path::kRdma);
        EXPECT_EQ(log.lines().size(), 0U);
    });
}

}  // namespace
}  // namespace beeline::world
