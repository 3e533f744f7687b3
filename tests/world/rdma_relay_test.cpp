// SPDX-License-Identifier: BSD-3-Clause
// RDMA between two engines of which one has memory that no card takes, or that is not in a row: it
// is relayed through pinned chunks of that side.
#include <string>

#include "support/log_capture.hpp"
#include "tests/world/rdma_nodes.hpp"

namespace beeline::world {
namespace {

/// Verbs that take no device memory.
const mover::verbs::Api& host_only() {
    static const mover::verbs::Api api = [] {
        mover::verbs::Api made = FakeCards::api();
        made.reg_mr = [](ibv_pd* pd, void* address, std::size_t bytes, int access) -> ibv_mr* {
            if (memory::classify(address).on_device()) {
                errno = EFAULT;
                return nullptr;
            }
            return FakeCards::api().reg_mr(pd, address, bytes, access);
        };
        return made;
    }();
    return api;
}

/// Which side's cards take no device memory.
enum class Bad { kSender, kReceiver, kBoth };

Hardware hardware_of(Bad bad) {
    Hardware hardware;
    hardware.api = bad == Bad::kReceiver ? &FakeCards::api() : &host_only();
    hardware.second = bad == Bad::kSender ? &FakeCards::api() : &host_only();
    return hardware;
}

class RdmaRelay : public testing::TestWithParam<Bad> {};

TEST_P(RdmaRelay, OneSideIsRelayedAndBothAreStaged) {
    const Bad bad = GetParam();
    for (const unsigned cards : {1U, 2U}) {
        with_cards(cards, [bad, cards](Rank& rank) {
            const auto moved = [cards] {
                return FakeCards::bytes(0) + (cards > 1 ? FakeCards::bytes(1) : 0);
            };
            const test::LogCapture log(LogLevel::kWarning);
            Nodes nodes(params_for(), 2, hardware_of(bad));
            unsigned number = 0;
            for (const std::size_t bytes : {8193U, 70001U, 262144U, 3000001U}) {
                const std::uint64_t before = moved();
                const Ends ends = transfer(nodes, rank, ++number, bytes);
                for (const engine::Outcome& outcome : {ends.sent, ends.received}) {
                    EXPECT_EQ(outcome.status, Status::kOk);
                    EXPECT_EQ(outcome.path, bad == Bad::kBoth ? Path::kStaged : Path::kRdma)
                        << bytes;
                }
                EXPECT_EQ(moved() - before >= bytes, bad != Bad::kBoth);
                const Ends back = transfer(nodes, rank, ++number, 1000);
                EXPECT_EQ(back.received.status, Status::kOk);
            }
            const Ends cut =
                transfer(nodes, rank, ++number, 900000, Kind::kDevice, Kind::kDevice, 500000);
            EXPECT_EQ(cut.sent.status, Status::kOk);
            EXPECT_EQ(cut.received.status, Status::kTruncated);
            EXPECT_EQ(log.lines().size(), 1U);
        });
    }
}

// The rail breaks in the middle: the message is moved again, staged, or over the other rail.
TEST_P(RdmaRelay, IsMovedAgainWhenARailBreaks) {
    const Bad bad = GetParam();
    if (bad == Bad::kBoth) {
        return;
    }
    for (const unsigned cards : {1U, 2U}) {
        with_cards(cards, [bad, cards](Rank& rank) {
            Nodes nodes(params_for(), 2, hardware_of(bad));
            transfer(nodes, rank, 1, 3000000);
            FakeCards::fault(0).cuts_at = FakeCards::requests(0) + 5;
            const Ends ends = transfer(nodes, rank, 2, 3000000);
            EXPECT_EQ(ends.sent.status, Status::kOk);
            EXPECT_EQ(ends.received.status, Status::kOk);
            EXPECT_EQ(ends.received.path, cards == 1 ? Path::kStaged : Path::kRdma);
            FakeCards::fault(0) = {};
            usleep(2000);
            EXPECT_EQ(transfer(nodes, rank, 3, 3000000).received.path, Path::kRdma);
        });
    }
}

// Many at once share the chunks.
TEST_P(RdmaRelay, ManyAtOnce) {
    const Bad bad = GetParam();
    with_cards(1, [bad](Rank& rank) {
        Nodes nodes(params_for(), 2, hardware_of(bad));
        constexpr std::size_t kMessages = 24;
        constexpr std::size_t kEach = 700000;
        std::vector<std::unique_ptr<MessageMemory>> memory;
        std::vector<std::unique_ptr<Ticket>> tickets;
        for (std::size_t i = 0; i < 2 * kMessages; ++i) {
            memory.push_back(
                std::make_unique<MessageMemory>(rank.driver(), Kind::kDevice, kEach, 0, false));
            tickets.push_back(std::make_unique<Ticket>());
        }
        for (std::size_t i = 0; i < kMessages; ++i) {
            memory[2 * i]->fill(content(kEach, static_cast<unsigned>(i)));
            nodes.send(0, *tickets[2 * i], *memory[2 * i]);
            nodes.receive(1, *tickets[2 * i + 1], *memory[2 * i + 1]);
        }
        for (const auto& ticket : tickets) {
            nodes.wait(*ticket);
            EXPECT_EQ(ticket->outcome().status, Status::kOk);
        }
        for (std::size_t i = 0; i < kMessages; ++i) {
            EXPECT_TRUE(memory[2 * i + 1]->holds(content(kEach, static_cast<unsigned>(i)))) << i;
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Engine, RdmaRelay,
                         testing::Values(Bad::kSender, Bad::kReceiver, Bad::kBoth),
                         [](const auto& each) {
                             return each.param == Bad::kSender     ? "Sender"
                                    : each.param == Bad::kReceiver ? "Receiver"
                                                                   : "Both";
                         });

// What is not in a row is packed into chunks, or unpacked out of them.
TEST(EngineRdmaRelay, PacksAndUnpacks) {
    with_cards(1, [](Rank& rank) {
        Nodes nodes(params_for());
        for (unsigned number = 0; number < 4; ++number) {
            constexpr std::size_t kEach = 600000;
            MessageMemory out(rank.driver(), Kind::kDevice, kEach, 3, (number & 1) != 0);
            MessageMemory in(rank.driver(), Kind::kDevice, kEach, 1, (number & 2) != 0);
            Ticket send;
            Ticket receive;
            out.fill(content(kEach, number));
            nodes.receive(1, receive, in);
            nodes.send(0, send, out);
            nodes.wait(receive);
            nodes.wait(send);
            EXPECT_EQ(receive.outcome().status, Status::kOk);
            EXPECT_EQ(receive.outcome().path, number == 3 ? Path::kStaged : Path::kRdma) << number;
            EXPECT_TRUE(in.holds(content(kEach, number))) << number;
        }
    });
}

}  // namespace
}  // namespace beeline::world
