// SPDX-License-Identifier: BSD-3-Clause
// RDMA between two engines when something fails: each message arrives once, by another way.
#include <string>

#include "support/log_capture.hpp"
#include "tests/world/rdma_nodes.hpp"

namespace beeline::world {
namespace {

TEST(EngineRdmaFault, WithoutCardsAtTheOtherSideItIsStaged) {
    with_cards(1, [](Rank& rank) {
        Hardware hardware;
        hardware.second = &no_cards();
        Nodes nodes(params_for(), 2, hardware);
        for (unsigned number = 0; number < 3; ++number) {
            const Ends ends = transfer(nodes, rank, number, kBytes);
            EXPECT_EQ(ends.received.path, Path::kStaged);
            EXPECT_EQ(ends.received.status, Status::kOk);
        }
        // And the other way round: the sender has none.
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        out.fill(content(kBytes, 9));
        Ticket send;
        Ticket receive;
        nodes.receive(0, receive, in);
        nodes.send(1, send, out);
        nodes.wait(receive);
        nodes.wait(send);
        EXPECT_EQ(receive.outcome().path, Path::kStaged);
        EXPECT_TRUE(in.holds(content(kBytes, 9)));
    });
}

// As where the other card's address is not answered for: whoever finds that out says so.
TEST(EngineRdmaFault, WhatNoRailConnectsToIsStaged) {
    for (const unsigned cards : {1U, 2U}) {
        with_cards(cards, [cards](Rank& rank) {
            for (unsigned card = 0; card < cards; ++card) {
                FakeCards::fault(card).unreachable = true;
            }
            Nodes nodes(params_for());
            for (unsigned number = 0; number < 3; ++number) {
                const Ends ends = transfer(nodes, rank, number, kBytes);
                EXPECT_EQ(ends.received.path, Path::kStaged);
                EXPECT_EQ(ends.received.status, Status::kOk);
            }
        });
    }
}

TEST(EngineRdmaFault, MemoryThatNoCardTakesIsStaged) {
    with_cards(1, [](Rank& rank) {
        FakeCards::fault(0).takes_no_device = true;
        const test::LogCapture log(LogLevel::kWarning);
        Nodes nodes(params_for());
        for (unsigned number = 0; number < 3; ++number) {
            EXPECT_EQ(transfer(nodes, rank, number, kBytes).received.path, Path::kStaged);
        }
        EXPECT_EQ(log.lines().size(), 1U);
    });
}

/// What goes wrong with the work requests of card 0, and what becomes of a message over it.
struct Failure {
    const char* name;
    void (*arm)(FakeCards::Fault& fault, std::uint64_t posted);
    unsigned cards;
    Path path;  ///< of the message that it happens to
};

class RdmaBreaks : public testing::TestWithParam<std::tuple<Failure, Preference>> {};

// The message is moved again, over the other rail or staged, and the next ones go by RDMA again
// once the fault is gone.
TEST_P(RdmaBreaks, TheMessageIsMovedAgainOnce) {
    const Failure failure = std::get<0>(GetParam());
    const Preference preference = std::get<1>(GetParam());
    with_cards(failure.cards, [&](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        Nodes nodes(params_for(preference));
        EXPECT_EQ(transfer(nodes, rank, 1, 300000).received.path, Path::kRdma);
        failure.arm(FakeCards::fault(0), FakeCards::requests(0));
        const Ends ends = transfer(nodes, rank, 2, 300000);
        EXPECT_EQ(ends.received.status, Status::kOk);
        EXPECT_EQ(ends.sent.status, Status::kOk);
        EXPECT_EQ(ends.received.path, failure.path);
        EXPECT_EQ(ends.sent.path, failure.path);
        EXPECT_EQ(log.lines().size(), 1U);
        FakeCards::fault(0) = {};
        usleep(2000);
        EXPECT_EQ(transfer(nodes, rank, 3, 300000).received.path, Path::kRdma);
        EXPECT_EQ(transfer(nodes, rank, 4, 300000).received.path, Path::kRdma);
        EXPECT_EQ(log.lines().size(), 1U);
    });
}

INSTANTIATE_TEST_SUITE_P(
    EngineRdma, RdmaBreaks,
    testing::Combine(testing::Values(Failure{"CutWithAnotherRail",
                                             [](FakeCards::Fault& fault, std::uint64_t) {
                                                 fault.cut = true;
                                             },
                                             2, Path::kRdma},
                                     Failure{"CutInTheMiddleWithAnotherRail",
                                             [](FakeCards::Fault& fault, std::uint64_t posted) {
                                                 fault.cuts_at = posted + 2;
                                             },
                                             2, Path::kRdma},
                                     Failure{"CutInTheMiddleWithoutAnother",
                                             [](FakeCards::Fault& fault, std::uint64_t posted) {
                                                 fault.cuts_at = posted + 2;
                                             },
                                             1, Path::kStaged},
                                     Failure{"LastAcknowledgementLostWithAnotherRail",
                                             [](FakeCards::Fault& fault, std::uint64_t posted) {
                                                 fault.fails_at = posted + 3;
                                             },
                                             2, Path::kRdma}),
                     testing::Values(Preference::kRdmaWrite, Preference::kRdmaRead)),
    [](const auto& each) {
        return std::string(std::get<0>(each.param).name) +
               (std::get<1>(each.param) == Preference::kRdmaRead ? "Read" : "Write");
    });

// All has come, and the sender alone does not know: nothing is moved twice.
TEST(EngineRdmaFault, WriteWhoseAcknowledgementIsLostEndsByWordOfMouth) {
    with_cards(1, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        Nodes nodes(params_for(Preference::kRdmaWrite));
        transfer(nodes, rank, 1, 60000);
        FakeCards::fault(0).fails_at = FakeCards::requests(0) + 1;
        const std::uint64_t before = FakeCards::bytes(0);
        const Ends ends = transfer(nodes, rank, 2, 60000);
        EXPECT_EQ(ends.sent.status, Status::kOk);
        EXPECT_EQ(ends.sent.path, Path::kRdma);
        EXPECT_EQ(ends.received.path, Path::kRdma);
        EXPECT_EQ(FakeCards::bytes(0) - before, 60000U);
        EXPECT_EQ(nodes.by(Path::kStaged), 0U);
    });
}

// What happens at a port that is not used, or at the card as a whole, concerns no rail.
TEST(EngineRdmaFault, EventsOfOtherPortsAreNothing) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        exchange(nodes, out, in, 0);
        for (const ibv_event_type type :
             {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE, IBV_EVENT_PORT_ERR}) {
            FakeCards::happens(0, type, 2);
        }
        nodes.progress_for(4 * 4096);  // each takes some thousand
        EXPECT_EQ(exchange(nodes, out, in, 1).path, Path::kRdma);
    });
}

// A key that is no longer good costs a new registration, not the message.
TEST(EngineRdmaFault, RevokedRegistrationIsMadeAnew) {
    with_cards(1, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        Nodes nodes(params_for(Preference::kRdmaWrite));
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        for (unsigned number = 0; number < 4; ++number) {
            const engine::Outcome received = exchange(nodes, out, in, number);
            EXPECT_EQ(received.path, Path::kRdma) << number;
            if (number == 1) {
                FakeCards::revoke(out.all().address);
                FakeCards::revoke(in.all().address);
            }
        }
        EXPECT_EQ(nodes[0].rdma_counters().retries, 1U);
        EXPECT_EQ(log.lines().size(), 1U);
    });
}

// One rail is broken and the other one still at it: the message is moved again only when that has
// ended, as its late bytes could fall into a buffer that is the application's again.
TEST(EngineRdmaFault, NothingIsMovedAgainBeforeTheOtherRailHasEnded) {
    for (const Preference preference : {Preference::kRdmaWrite, Preference::kRdmaRead}) {
        with_cards(2, [preference](Rank& rank) {
            const test::LogCapture log(LogLevel::kWarning);
            Nodes nodes(params_for(preference));
            transfer(nodes, rank, 1, 300000);
            MessageMemory out(rank.driver(), Kind::kDevice, 300000, 0, false);
            MessageMemory in(rank.driver(), Kind::kDevice, 300000, 0, false);
            out.fill(content(300000, 2));
            Ticket send;
            Ticket receive;
            FakeCards::fault(0).cut = true;
            FakeCards::fault(1).held = true;
            nodes.send(0, send, out);
            nodes.receive(1, receive, in);
            nodes.progress_for(3000);
            EXPECT_FALSE(send.done);
            EXPECT_FALSE(receive.done);
            EXPECT_EQ(nodes[0].rdma_counters().retries + nodes[1].rdma_counters().retries, 0U);
            FakeCards::fault(0) = {};
            FakeCards::fault(1) = {};
            nodes.wait(receive);
            nodes.wait(send);
            EXPECT_EQ(receive.outcome().path, Path::kRdma);
            EXPECT_TRUE(in.holds(content(300000, 2)));
        });
    }
}

// A peer that answers nothing after its rails broke: the message ends with an error that names it.
TEST(EngineRdmaFault, SilentPeerIsGivenUp) {
    with_cards(1, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kError);
        config::Params params = params_for(Preference::kRdmaWrite);
        params.pml_rdma_peer_limit = 1;
        Nodes nodes(params);
        transfer(nodes, rank, 1, kBytes);
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        Ticket send;
        Ticket receive;
        out.fill(content(kBytes, 2));
        nodes.receive(1, receive, in);
        nodes.send(0, send, out);
        FakeCards::fault(0).held = true;
        nodes.progress_for(2000);
        FakeCards::fault(0).cut = true;
        FakeCards::fault(0).held = false;
        while (!send.done) {
            nodes[0].progress();
        }
        EXPECT_EQ(send.outcome().status, Status::kUnreachable);
        ASSERT_EQ(log.lines().size(), 1U);
        EXPECT_NE(log.lines()[0].find("rank 1"), std::string::npos);
    });
}

struct Untrusted {
    const char* name;
    void (*arm)(FakeCards::Fault& fault);
};

class RdmaTest : public testing::TestWithParam<Untrusted> {};

// A new connection is tested: a rail that garbles, hangs or cannot be had is not used, and named
// once.
TEST_P(RdmaTest, ARailThatFailsItsTestIsNotUsed) {
    const Untrusted what = GetParam();
    for (const unsigned cards : {1U, 2U}) {
        with_cards(cards, [&](Rank& rank) {
            const test::LogCapture log(LogLevel::kWarning);
            what.arm(FakeCards::fault(0));
            config::Params params = params_for();
            params.pml_rdma_test_limit = 100;
            params.pml_rdma_retry_after = 600000;
            Nodes nodes(params);
            const Path path = cards == 1 ? Path::kStaged : Path::kRdma;
            for (unsigned number = 0; number < 3; ++number) {
                EXPECT_EQ(transfer(nodes, rank, number, 300000).received.path, path) << number;
            }
            ASSERT_GE(log.lines().size(), 1U);
            EXPECT_LE(log.lines().size(), 2U);
            EXPECT_NE(log.lines()[0].find("fake0"), std::string::npos) << log.lines()[0];
        });
    }
}

INSTANTIATE_TEST_SUITE_P(
    EngineRdma, RdmaTest,
    testing::Values(Untrusted{"Garbles", [](FakeCards::Fault& fault) { fault.garbles = true; }},
                    Untrusted{"Hangs", [](FakeCards::Fault& fault) { fault.hangs = true; }},
                    Untrusted{"HasNoQueuePair",
                              [](FakeCards::Fault& fault) { fault.refuses = true; }}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace beeline::world
