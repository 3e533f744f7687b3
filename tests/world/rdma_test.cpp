// SPDX-License-Identifier: BSD-3-Clause
// RDMA between two engines of one process, over cards in software: writes and reads of every size,
// several rails, both sides connecting at once, and every failure on the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "engine/address.hpp"
#include "memory/copy.hpp"
#include "support/log_capture.hpp"
#include "tests/world/fake_verbs.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;
using protocol::Path;
using protocol::Preference;
using protocol::Reason;

constexpr std::size_t kBytes = 100000;

void copy_any(void* to, const void* from, std::size_t bytes) {
    ASSERT_EQ(memory::copy(to, memory::classify(to), from, memory::classify(from), bytes),
              Status::kOk);
}

/// Verbs of a machine without cards.
const mover::verbs::Api& no_cards() {
    static const mover::verbs::Api api = [] {
        mover::verbs::Api none = FakeCards::api();
        none.get_device_list = [](int* count) {
            *count = 0;
            return new ibv_device* [1] {};
        };
        return none;
    }();
    return api;
}

/// Engines that take each other for processes of different nodes.
class Nodes {
 public:
    explicit Nodes(const config::Params& params, int count = 2, bool second_has_cards = true)
        : count_(count) {
        for (int side = 0; side < count; ++side) {
            auto made = engine::Engine::create(params, 0);
            EXPECT_TRUE(made.ok());
            engines_[side] = std::move(*made);
            engines_[side]->use_verbs(side != 1 || second_has_cards ? &FakeCards::api()
                                                                    : &no_cards());
        }
        for (int side = 0; side < count; ++side) {
            for (int one = 0; one < count; ++one) {
                engine::Address other;
                EXPECT_TRUE(decode(engines_[one]->address(), other));
                other.node.boot ^= static_cast<std::uint64_t>(one) + 1;
                peers_[side][one] = one != side ? engines_[side]->add_peer(encode(other)) : nullptr;
            }
            communicators_[side] = engines_[side]->add_communicator(
                0, side, count,
                {[](void* self, int rank) { return static_cast<engine::Peer**>(self)[rank]; },
                 peers_[side]});
        }
    }
    ~Nodes() {
        const auto all_idle = [&] {
            return std::all_of(engines_, engines_ + count_,
                               [](const auto& engine) { return engine->idle(); });
        };
        while (!all_idle()) {
            progress();
        }
        for (int side = 0; side < count_; ++side) {
            engines_[side]->remove_communicator(communicators_[side]);
            engines_[side]->close_peers(nullptr);
        }
        for (auto& engine : engines_) {
            if (engine != nullptr) {
                engine->release_device_resources();
                engine.reset();
            }
        }
        EXPECT_EQ(FakeCards::pairs(), 0U);
        EXPECT_EQ(FakeCards::regions(), 0U);
        EXPECT_EQ(FakeCards::queues(), 0U);
    }
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;

    engine::Engine& operator[](int side) { return *engines_[side]; }
    void progress() {
        for (int side = 0; side < count_; ++side) {
            engines_[side]->progress();
        }
    }
    void send(int side, Ticket& ticket, const MessageMemory& memory, int to = -1) {
        EXPECT_EQ(
            engines_[side]->send(ticket.request, *communicators_[side], to < 0 ? 1 - side : to, 0,
                                 memory.all(), engine::SendMode::kStandard),
            Status::kOk);
    }
    void receive(int side, Ticket& ticket, const MessageMemory& memory, int from = -1) {
        EXPECT_EQ(engines_[side]->receive(ticket.request, *communicators_[side],
                                          from < 0 ? 1 - side : from, 0, memory.all()),
                  Status::kOk);
    }
    void wait(const Ticket& ticket) {
        for (unsigned idle = 0; !ticket.done; ++idle) {
            progress();
            if (idle > 1000) {
                usleep(20);
            }
        }
    }
    void progress_for(int times) {
        for (int i = 0; i < times; ++i) {
            progress();
        }
    }
    std::uint64_t by(Path path, int side = 0) {
        return engines_[side]->counters().messages[static_cast<std::size_t>(path)];
    }

 private:
    static constexpr int kMost = 3;
    int count_;
    std::unique_ptr<engine::Engine> engines_[kMost];
    engine::Peer* peers_[kMost][kMost] = {};
    engine::Communicator* communicators_[kMost] = {};
};

/// Runs a test in a process of its own, with CUDA and `cards` cards.
template <class Body>
void with_cards(unsigned cards, const Body& body) {
    Job job;
    job.size = 1;
    setenv("SOFTCUDA_GPUDIRECT", "1", 1);
    run_ranks(job, [&](Rank& rank) {
        FakeCards::reset(cards);
        FakeCards::set_copy(copy_any);
        body(rank);
    });
}

config::Params params_for(Preference preference = Preference::kAuto) {
    config::Params params;
    params.pml_protocol = static_cast<int>(preference);
    params.pml_rdma_stripe = 65536;
    params.pml_rdma_unit = 65536;
    params.pml_rdma_retry_after = 0;
    return params;
}

/// A message of kBytes from node 0 to node 1 between buffers that stay, checked.
engine::Outcome exchange(Nodes& nodes, MessageMemory& out, MessageMemory& in, unsigned number) {
    Ticket send;
    Ticket receive;
    out.fill(content(kBytes, number));
    nodes.send(0, send, out);
    nodes.receive(1, receive, in);
    nodes.wait(send);
    nodes.wait(receive);
    EXPECT_TRUE(in.holds(content(kBytes, number)));
    return receive.outcome();
}

struct Ends {
    engine::Outcome sent;
    engine::Outcome received;
};

/// One message from node 0 to node 1, checked.
Ends transfer(Nodes& nodes, Rank& rank, unsigned number, std::size_t bytes,
              Kind from = Kind::kDevice, Kind to = Kind::kDevice, std::size_t room = SIZE_MAX) {
    room = std::min(room, bytes);
    MessageMemory out(rank.driver(), from, bytes, number % 7, false);
    MessageMemory in(rank.driver(), to, room, number % 5, false);
    Bytes content_ = content(bytes, number);
    out.fill(content_);
    Ticket send;
    Ticket receive;
    nodes.receive(1, receive, in);
    nodes.send(0, send, out);
    nodes.wait(receive);
    nodes.wait(send);
    content_.resize(room);
    EXPECT_TRUE(in.holds(content_)) << "message " << number << " of " << bytes;
    EXPECT_EQ(send.calls, 1);
    EXPECT_EQ(receive.calls, 1);
    return {send.outcome(), receive.outcome()};
}

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
            EXPECT_EQ(transfer(nodes, rank, ++number, 30000, Kind::kDevice, host).received.path,
                      Path::kStaged);
            EXPECT_EQ(transfer(nodes, rank, ++number, 30000, host, Kind::kDevice).received.path,
                      Path::kStaged);
        }
    });
}

TEST(EngineRdmaWays, HostTrafficOpensNoCard) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        transfer(nodes, rank, 1, 1000000, Kind::kHost, Kind::kHost);
        transfer(nodes, rank, 2, 100, Kind::kDevice, Kind::kDevice);
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
        EXPECT_EQ(FakeCards::pairs(), 4U) << "one of each side on each rail";
    });
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

TEST(EngineRdmaFault, WithoutCardsAtTheOtherSideItIsStaged) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for(), 2, false);
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
            EXPECT_LE(FakeCards::pairs(), 6U) << "two ends on two rails, and one at most left over";
        }
        EXPECT_EQ(log.lines().size(), 0U);
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
