// SPDX-License-Identifier: BSD-3-Clause
// Small messages by RDMA between two engines: their way, their order, their number, and what
// becomes of those under way when a rail breaks.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/log_capture.hpp"
#include "tests/world/rdma_nodes.hpp"

namespace beeline::world {
namespace {

constexpr std::size_t kSmall = 1000;

/// While it lives, processes that are started have device memory that the processor reaches as
/// well.
class HostAccess {
 public:
    explicit HostAccess(bool is_wanted = true) {
        if (is_wanted) {
            setenv("SOFTCUDA_HOST_ACCESS", "1", 1);
        }
    }
    ~HostAccess() { unsetenv("SOFTCUDA_HOST_ACCESS"); }
    HostAccess(const HostAccess&) = delete;
    HostAccess& operator=(const HostAccess&) = delete;
};

/// Nodes with a connection that has been found good by both.
struct Connected : Nodes {
    Connected(const config::Params& params, Rank& rank) : Nodes(params) {
        transfer(*this, rank, 1, kBytes);
        progress_for(100);
    }
};

// The first message makes the connection and does not wait for it.
TEST(EngineRdmaMessages, GoByRdmaOnceThereIsAConnection) {
    with_cards(2, [](Rank& rank) {
        Nodes nodes(params_for());
        EXPECT_EQ(transfer(nodes, rank, 1, kSmall).received.path, Path::kUcx);
        nodes.progress_for(100);
        unsigned number = 1;
        for (const std::size_t bytes : {1U, 8U, 89U, 1000U, 8191U, 8192U}) {
            for (const Kind to : {Kind::kDevice, Kind::kHost, Kind::kPinned}) {
                const Ends ends = transfer(nodes, rank, ++number, bytes, Kind::kDevice, to);
                for (const engine::Outcome& outcome : {ends.sent, ends.received}) {
                    EXPECT_EQ(outcome.status, Status::kOk);
                    EXPECT_EQ(outcome.path, Path::kRdma) << bytes;
                    EXPECT_EQ(outcome.reason, Reason::kSmall);
                }
            }
        }
        EXPECT_EQ(
            transfer(nodes, rank, ++number, 100, Kind::kDevice, Kind::kDevice, 50).received.status,
            Status::kTruncated);
        EXPECT_EQ(FakeCards::bytes(0), 512U * 2) << "patterns alone are written";
    });
}

// An answer in host memory does not wait until UCX is looked at.
TEST(EngineRdmaMessages, TakeSmallHostMemoryAlongOnceThereIsAConnection) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        MessageMemory out(rank.driver(), Kind::kHost, kSmall, 0, false);
        MessageMemory in(rank.driver(), Kind::kHost, kSmall, 0, false);
        out.fill(content(kSmall, 7));
        EXPECT_FALSE(nodes.try_send(0, out)) << "nothing but host memory makes no connection";
        transfer(nodes, rank, 1, kBytes);
        nodes.progress_for(100);
        for (int number = 0; number < 200; ++number) {
            Ticket receive;
            in.fill(content(kSmall, 8));
            nodes.receive(number % 2, receive, in);
            ASSERT_TRUE(nodes.try_send(1 - number % 2, out)) << number;
            nodes.wait(receive);
            EXPECT_EQ(receive.outcome().status, Status::kOk);
            EXPECT_EQ(receive.outcome().path, Path::kRdma);
            EXPECT_TRUE(in.holds(content(kSmall, 7)));
        }
    });
}

TEST(EngineRdmaMessages, WhatIsNotInARowIsPacked) {
    with_cards(1, [](Rank& rank) {
        Connected nodes(params_for(), rank);
        for (unsigned number = 0; number < 4; ++number) {
            MessageMemory out(rank.driver(), Kind::kDevice, kSmall, 3, number % 2 == 0);
            MessageMemory in(rank.driver(), Kind::kDevice, kSmall, 1, number >= 2);
            Ticket send;
            Ticket receive;
            out.fill(content(kSmall, number));
            nodes.receive(1, receive, in);
            nodes.send(0, send, out);
            nodes.wait(receive);
            nodes.wait(send);
            EXPECT_EQ(receive.outcome().path, Path::kRdma);
            EXPECT_TRUE(in.holds(content(kSmall, number)));
        }
    });
}

// Where the processor reaches device memory, the driver is asked whether that is still what it was,
// and for nothing else; a send ends at once, as its data has been copied.
TEST(EngineRdmaMessages, AskTheDriverOneThingWhereTheProcessorReachesTheMemory) {
    const HostAccess access;
    with_cards(1, [](Rank& rank) {
        Connected nodes(params_for(), rank);
        FakeCards::set_copy([](void* to, const void* from, std::size_t bytes) {
            if (bytes != 0) {
                std::memcpy(to, from, bytes);  // asks nobody
            }
        });
        using Calls = unsigned long long (*)(const char*);
        const auto calls = reinterpret_cast<Calls>(software_entry("softcuda_calls"));
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{8192}}) {
            MessageMemory out(rank.driver(), Kind::kDevice, bytes, 0, false);
            MessageMemory in(rank.driver(), Kind::kDevice, bytes, 0, false);
            for (unsigned number = 0; number < 40; ++number) {
                out.fill(content(bytes, number));
                const unsigned long long all = calls(nullptr);
                const unsigned long long asked = calls("cuPointerGetAttributes");
                Ticket send;
                Ticket receive;
                nodes.receive(1, receive, in);
                nodes.send(0, send, out);
                EXPECT_TRUE(send.done);
                nodes.wait(receive);
                EXPECT_EQ(receive.outcome().path, Path::kRdma);
                if (number != 0) {
                    EXPECT_EQ(calls("cuPointerGetAttributes") - asked, 2U);
                    EXPECT_EQ(calls(nullptr) - all, 2U);
                }
                EXPECT_TRUE(in.holds(content(bytes, number))) << bytes << ", " << number;
            }
        }
    });
}

// A send that has ended needs no completion of its own: the card tells one in sixteen.
TEST(EngineRdmaMessages, QuietOnesAreToldTogether) {
    const HostAccess access;
    with_cards(1, [](Rank& rank) {
        Connected nodes(params_for(), rank);
        const std::uint64_t messages = FakeCards::messages(0);
        const std::uint64_t told = FakeCards::signalled_messages(0);
        for (unsigned number = 0; number < 160; ++number) {
            EXPECT_EQ(transfer(nodes, rank, number, 100).received.path, Path::kRdma);
        }
        EXPECT_GE(FakeCards::messages(0) - messages, 160U);
        EXPECT_LE(FakeCards::signalled_messages(0) - told, 25U);
        nodes.progress_for(100);
        EXPECT_TRUE(nodes[0].idle() && nodes[1].idle()) << "although some have not been told";
    });
}

// A write costs two of them: what is offered, and where it is to go. The sender's network card
// tells the rest. A read costs what is offered, and that it has been taken.
TEST(EngineRdmaMessages, ALargeMessageNeedsTwo) {
    for (const Preference preference : {Preference::kRdmaWrite, Preference::kRdmaRead}) {
        with_cards(1, [preference](Rank& rank) {
            Connected nodes(params_for(preference), rank);
            const auto sent = [&](int side) {
                return nodes[side].rdma_counters().rails[0].messages;
            };
            const std::uint64_t before[] = {sent(0), sent(1)};
            for (unsigned number = 0; number < 10; ++number) {
                transfer(nodes, rank, number, kBytes);
            }
            EXPECT_EQ(sent(0) - before[0], 10U);
            EXPECT_EQ(sent(1) - before[1], 10U);
        });
    }
}

TEST(EngineRdmaMessages, SynchronousOnesEndWhenTheyAreMatched) {
    with_cards(1, [](Rank& rank) {
        Connected nodes(params_for(), rank);
        MessageMemory out(rank.driver(), Kind::kDevice, kSmall, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kSmall, 0, false);
        Ticket send;
        Ticket receive;
        out.fill(content(kSmall, 1));
        nodes.send(0, send, out, 1, engine::SendMode::kSynchronous);
        nodes.progress_for(100);
        EXPECT_FALSE(send.done);
        nodes.receive(1, receive, in);
        nodes.wait(send);
        EXPECT_EQ(send.outcome().path, Path::kRdma);
        EXPECT_TRUE(in.holds(content(kSmall, 1)));
    });
}

/// Messages of many sizes from node 0 to node 1 under way at once, which are received in their
/// order.
class Stream {
 public:
    Stream(Nodes& nodes, Rank& rank, int messages, std::size_t step) : nodes_(nodes), step_(step) {
        for (int i = 0; i < messages; ++i) {
            out_.push_back(
                std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, bytes(i), 0, false));
            in_.push_back(
                std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, bytes(i), 0, false));
            out_.back()->fill(content(bytes(i), static_cast<unsigned>(i)));
            sends_.push_back(std::make_unique<Ticket>());
            receives_.push_back(std::make_unique<Ticket>());
        }
    }
    void send() {
        for (std::size_t i = 0; i < out_.size(); ++i) {
            nodes_.send(0, *sends_[i], *out_[i]);
        }
    }
    void receive() {
        for (std::size_t i = 0; i < in_.size(); ++i) {
            nodes_.receive(1, *receives_[i], *in_[i]);
        }
    }
    void check() {
        for (std::size_t i = 0; i < in_.size(); ++i) {
            nodes_.wait(*sends_[i]);
            nodes_.wait(*receives_[i]);
            EXPECT_EQ(sends_[i]->outcome().status, Status::kOk);
            EXPECT_EQ(receives_[i]->outcome().status, Status::kOk);
            EXPECT_EQ(receives_[i]->calls, 1);
            EXPECT_TRUE(
                in_[i]->holds(content(bytes(static_cast<int>(i)), static_cast<unsigned>(i))))
                << i;
        }
    }
    int by(Path path) const {
        int count = 0;
        for (const auto& receive : receives_) {
            count += receive->outcome().path == path ? 1 : 0;
        }
        return count;
    }

 private:
    std::size_t bytes(int i) const { return 8 + step_ * static_cast<std::size_t>(i % 8); }

    Nodes& nodes_;
    std::size_t step_;
    std::vector<std::unique_ptr<MessageMemory>> out_;
    std::vector<std::unique_ptr<MessageMemory>> in_;
    std::vector<std::unique_ptr<Ticket>> sends_;
    std::vector<std::unique_ptr<Ticket>> receives_;
};

// Small ones and large ones, expected and not, keep their order.
TEST(EngineRdmaMessages, KeepTheirOrder) {
    for (const bool expected : {false, true}) {
        with_cards(2, [expected](Rank& rank) {
            Connected nodes(params_for(), rank);
            Stream stream(nodes, rank, 64, 2000);  // up to 14 KB
            if (expected) {
                stream.receive();
                stream.send();
            } else {
                stream.send();
                nodes.progress_for(50);
                stream.receive();
            }
            stream.check();
            EXPECT_EQ(stream.by(Path::kRdma), 64);
        });
    }
}

// A receiver that says nothing of its own accord still says what it has taken.
TEST(EngineRdmaMessages, AreBoundedByCredits) {
    with_cards(1, [](Rank& rank) {
        config::Params params = params_for();
        params.pml_rdma_credits = 8;
        params.pml_rdma_receives = 64;
        Connected nodes(params, rank);
        const std::uint64_t before = FakeCards::messages(0);
        Stream stream(nodes, rank, 200, 0);
        stream.send();
        for (int i = 0; i < 100; ++i) {
            nodes[0].progress();
        }
        EXPECT_LE(FakeCards::messages(0) - before, 8U) << "nobody has taken any";
        stream.receive();
        stream.check();
        EXPECT_EQ(stream.by(Path::kRdma), 200);
        EXPECT_GE(FakeCards::messages(0) - before, 200U + 200 / 8);
    });
}

struct Loss {
    const char* name;
    void (*arm)(FakeCards::Fault& fault, std::uint64_t sent);
    unsigned cards;
};

class RdmaMessagesBreak : public testing::TestWithParam<Loss> {};

// What was under way comes once, whether it had come already or not, and in order.
TEST_P(RdmaMessagesBreak, EachComesOnce) {
    const Loss loss = GetParam();
    for (const unsigned round : {0U, 1U, 2U, 3U}) {
        const std::size_t step = round % 2 == 0 ? 100 : 2000;
        const HostAccess access(round >= 2);  // then sends have ended already
        with_cards(loss.cards, [&](Rank& rank) {
            const test::LogCapture log(LogLevel::kWarning);
            Connected nodes(params_for(), rank);
            Stream stream(nodes, rank, 48, step);
            stream.receive();
            loss.arm(FakeCards::fault(0), FakeCards::messages(0));
            stream.send();
            nodes.progress_for(200);
            FakeCards::fault(0) = {};
            stream.check();
            EXPECT_EQ(log.lines().size(), 1U) << log.lines().back();
            usleep(2000);
            EXPECT_EQ(transfer(nodes, rank, 3, 300000).received.path, Path::kRdma);
            nodes.progress_for(100);
            EXPECT_EQ(transfer(nodes, rank, 4, kSmall).received.path, Path::kRdma);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(
    EngineRdma, RdmaMessagesBreak,
    testing::Values(
        Loss{"AcknowledgementLost",
             [](FakeCards::Fault& fault, std::uint64_t sent) { fault.fails_at_message = sent + 5; },
             1},
        Loss{"AcknowledgementLostWithAnotherRail",
             [](FakeCards::Fault& fault, std::uint64_t sent) { fault.fails_at_message = sent + 5; },
             2},
        Loss{"Cut", [](FakeCards::Fault& fault, std::uint64_t) { fault.cut = true; }, 1},
        Loss{"CutWithAnotherRail", [](FakeCards::Fault& fault, std::uint64_t) { fault.cut = true; },
             2}),
    [](const auto& each) { return each.param.name; });

// Without memory for them there are no such messages, and all else is as it was.
TEST(EngineRdmaMessages, GoByUcxWithoutMemoryForThem) {
    with_cards(1, [](Rank& rank) {
        const test::LogCapture log(LogLevel::kWarning);
        FakeCards::fault(0).most_registered = 1 << 20;
        Nodes nodes(params_for());
        EXPECT_EQ(transfer(nodes, rank, 1, kBytes).received.path, Path::kRdma);
        nodes.progress_for(100);
        EXPECT_EQ(transfer(nodes, rank, 2, kSmall).received.path, Path::kUcx);
        EXPECT_EQ(log.lines().size(), 0U);
    });
}

}  // namespace
}  // namespace beeline::world
