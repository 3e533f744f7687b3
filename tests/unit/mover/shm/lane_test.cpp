// SPDX-License-Identifier: BSD-3-Clause
// The lane: order, full queues, slots and chunks, several senders, and peers that misbehave.
#include "mover/shm/lane.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/log_capture.hpp"

namespace beeline::mover::shm {
namespace {

constexpr Geometry kGeometry{16, 4, 256, 2, 4096, 3, 8192};

/// Keeps what arrives.
struct Inbox {
    struct Entry {
        std::string text;
        std::uint32_t sender;
        bool in_slot;
    };
    std::vector<Entry> entries;
    Receiver receiver() {
        return {[](void* self, const Arrival& arrival) {
                    const auto* text = reinterpret_cast<const char*>(arrival.message.data());
                    static_cast<Inbox*>(self)->entries.push_back(
                        {{text, arrival.message.size()}, arrival.sender, arrival.in_slot});
                },
                this};
    }
};

/// A receiving lane and one that sends to it.
class LanePair : public testing::Test {
 protected:
    void SetUp() override {
        auto to = Lane::create(kGeometry, inbox_.receiver());
        auto from = Lane::create(kGeometry, back_.receiver());
        ASSERT_TRUE(to.ok() && from.ok());
        to_ = std::move(*to);
        from_ = std::move(*from);
        auto link = from_->connect(to_->location());
        ASSERT_TRUE(link.ok());
        link_ = std::move(*link);
    }

    bool send(const std::string& text) {
        return from_->send_inline(*link_, std::as_bytes(std::span(text)), {});
    }
    bool send_by_slot(const std::string& text) {
        std::uint32_t index = 0;
        std::byte* slot = from_->take_slot(index);
        if (slot == nullptr) {
            return false;
        }
        std::memcpy(slot, text.data(), text.size());
        if (!from_->send_slot(*link_, index, text.size())) {
            from_->drop_slot(index);
            return false;
        }
        return true;
    }
    /// A cell of the receiver's queue as only a misbehaving peer fills it.
    void forge_slot(std::uint32_t sender, std::uint32_t slot) { forge(sender, 8, true, slot); }
    void forge(std::uint32_t sender, std::uint32_t bytes, bool in_slot, std::uint32_t slot) {
        const std::uint64_t position = link_->segment.tail<Queue::kNarrow>().fetch_add(1);
        Cell& cell = link_->segment.cell<Queue::kNarrow>(position);
        cell.sender = static_cast<std::uint16_t>(sender);
        cell.bytes = bytes & 0x7fffffffU;
        cell.in_slot = in_slot ? 1 : 0;
        cell.slot = static_cast<std::uint16_t>(slot);
        cell.sequence.store(position + 1, std::memory_order_release);
    }

    Inbox inbox_;
    Inbox back_;
    std::unique_ptr<Lane> to_;
    std::unique_ptr<Lane> from_;
    std::unique_ptr<Link> link_;
};

TEST_F(LanePair, TwoPartsArriveAsOne) {
    const std::string head = "head";
    const std::string tail = "and tail";
    ASSERT_TRUE(
        from_->send_inline(*link_, std::as_bytes(std::span(head)), std::as_bytes(std::span(tail))));
    EXPECT_EQ(to_->progress(1), 1);
    ASSERT_EQ(inbox_.entries.size(), 1U);
    EXPECT_EQ(inbox_.entries[0].text, "headand tail");
    EXPECT_FALSE(inbox_.entries[0].in_slot);
    EXPECT_EQ(to_->progress(1), 0);
}

TEST_F(LanePair, LargestInlineAndSlotMessages) {
    const std::string largest(Lane::kInlineBytes, 'i');
    const std::string slot(from_->slot_bytes(), 's');
    ASSERT_TRUE(send(largest));
    EXPECT_EQ(to_->progress(16), 1);
    ASSERT_TRUE(send_by_slot(slot));
    EXPECT_EQ(to_->progress(16), 1);
    ASSERT_EQ(inbox_.entries.size(), 2U);
    EXPECT_EQ(inbox_.entries[0].text, largest);
    EXPECT_EQ(inbox_.entries[1].text, slot);
    EXPECT_TRUE(inbox_.entries[1].in_slot);
}

TEST_F(LanePair, FullQueueRefusesUntilItIsRead) {
    for (std::uint32_t i = 0; i < kGeometry.cells; ++i) {
        ASSERT_TRUE(send(std::to_string(i)));
    }
    EXPECT_FALSE(send("too much"));
    std::uint32_t index = 0;
    ASSERT_NE(from_->take_slot(index), nullptr);
    EXPECT_FALSE(from_->send_slot(*link_, index, 1));
    from_->drop_slot(index);
    EXPECT_EQ(to_->progress(1), 1);
    EXPECT_TRUE(send("16"));
    EXPECT_FALSE(send("too much"));
    EXPECT_EQ(to_->progress(100), 16);
    for (std::uint32_t i = 0; i <= kGeometry.cells; ++i) {
        EXPECT_EQ(inbox_.entries[i].text, std::to_string(i));
    }
}

TEST_F(LanePair, MessageStaysWhileTakingItMakesProgress) {
    // The queue is filled again from within: no cell may be reused before its message is done with.
    std::vector<std::string> seen;
    int depth = 0;
    const auto take = [&](auto& self, const Arrival& arrival) -> void {
        const auto* text = reinterpret_cast<const char*>(arrival.message.data());
        const std::string before(text, arrival.message.size());
        seen.push_back(before);
        if (++depth == 1) {
            to_->progress(100, [&](const Arrival& inner) { self(self, inner); });
            int more = 0;
            while (send("more")) {
                ++more;
            }
            EXPECT_LT(more, static_cast<int>(kGeometry.cells)) << "one is still being read";
            to_->progress(100, [&](const Arrival& inner) { self(self, inner); });
        }
        EXPECT_EQ(std::string(text, arrival.message.size()), before);
    };
    for (std::uint32_t i = 0; i < kGeometry.cells; ++i) {
        ASSERT_TRUE(send(std::to_string(i)));
    }
    EXPECT_EQ(to_->progress(1, [&](const Arrival& arrival) { take(take, arrival); }), 1);
    ASSERT_GE(seen.size(), kGeometry.cells);
    for (std::uint32_t i = 0; i < kGeometry.cells; ++i) {
        EXPECT_EQ(seen[i], std::to_string(i));
    }
    while (to_->progress(100) > 0) {
    }
    EXPECT_FALSE(to_->pending());
    ASSERT_TRUE(send("last"));
    EXPECT_TRUE(to_->pending());
    EXPECT_EQ(to_->progress(100), 1);
}

TEST_F(LanePair, DataBehindAHeaderStartsACacheLine) {
    constexpr std::size_t kHeader = 40;
    std::uintptr_t wide = 1;
    std::uintptr_t slot = 1;
    const auto remember = [&](const Arrival& arrival) {
        (arrival.in_slot ? slot : wide) =
            reinterpret_cast<std::uintptr_t>(arrival.message.data() + kHeader) % 64;
    };
    ASSERT_TRUE(send(std::string(kNarrowBody + 1, 'w')));
    ASSERT_TRUE(send_by_slot("slot"));
    EXPECT_EQ(to_->progress(100, remember), 2);
    EXPECT_EQ(wide, 0U);
    EXPECT_EQ(slot, 0U);
}

TEST_F(LanePair, WideQueueFillsAndEmptiesByItself) {
    const auto text = [](std::uint32_t i) { return std::string(kNarrowBody + 1 + i, 'w'); };
    for (int lap = 0; lap < 3; ++lap) {
        inbox_.entries.clear();
        for (std::uint32_t i = 0; i < kWideCells; ++i) {
            ASSERT_TRUE(send(text(i)));
        }
        EXPECT_FALSE(send(text(0)));
        EXPECT_TRUE(send("narrow")) << "the other queue has room";
        EXPECT_EQ(to_->progress(1000), static_cast<int>(kWideCells) + 1);
        ASSERT_EQ(inbox_.entries.size(), kWideCells + 1U);
        EXPECT_EQ(inbox_.entries[0].text, "narrow");
        for (std::uint32_t i = 0; i < kWideCells; ++i) {
            EXPECT_EQ(inbox_.entries[i + 1].text, text(i));
        }
    }
}

TEST_F(LanePair, RingWrapsAround) {
    int sent = 0;
    for (int lap = 0; lap < 200; ++lap) {
        for (int i = 0; i < 1 + lap % 16; ++i) {
            ASSERT_TRUE(lap % 3 == 0 && i < 4 ? send_by_slot(std::to_string(sent))
                                              : send(std::to_string(sent)));
            ++sent;
        }
        to_->progress(100);
    }
    ASSERT_EQ(inbox_.entries.size(), static_cast<std::size_t>(sent));
    for (int i = 0; i < sent; ++i) {
        ASSERT_EQ(inbox_.entries[static_cast<std::size_t>(i)].text, std::to_string(i));
    }
}

TEST_F(LanePair, SlotsRunOutAndComeBack) {
    for (int round = 0; round < 10; ++round) {
        for (std::uint32_t i = 0; i < kGeometry.slots; ++i) {
            ASSERT_TRUE(send_by_slot("message"));
        }
        std::uint32_t index = 0;
        EXPECT_EQ(from_->take_slot(index), nullptr);
        EXPECT_EQ(to_->progress(1), 1);
        EXPECT_NE(from_->take_slot(index), nullptr) << "one was read";
        std::uint32_t none = 0;
        EXPECT_EQ(from_->take_slot(none), nullptr);
        from_->drop_slot(index);
        to_->progress(100);
    }
    EXPECT_EQ(inbox_.entries.size(), 10U * kGeometry.slots);
}

TEST_F(LanePair, ChunksAreTakenSeenAndReleased) {
    ASSERT_TRUE(send("hello"));
    to_->progress(1);
    const std::uint32_t sender = inbox_.entries.at(0).sender;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    std::byte* memory = from_->take_chunk(first);
    ASSERT_NE(memory, nullptr);
    ASSERT_NE(from_->take_chunk(second), nullptr);
    EXPECT_NE(first, second);
    EXPECT_EQ(from_->take_chunk(third), nullptr);
    std::memset(memory, 0x77, kGeometry.chunk_bytes);
    const std::span<std::byte> seen = to_->chunk_of(sender, first);
    ASSERT_EQ(seen.size(), kGeometry.chunk_bytes);
    EXPECT_EQ(seen.front(), std::byte{0x77});
    EXPECT_EQ(seen.back(), std::byte{0x77});
    to_->release_chunk(sender, first);
    ASSERT_NE(from_->take_chunk(third), nullptr);
    EXPECT_EQ(third, first);
    from_->drop_chunk(second);
    EXPECT_NE(from_->take_chunk(third), nullptr);
    EXPECT_EQ(to_->payload_of(sender).size(), from_->payload().size());
    EXPECT_EQ(to_->nonce_of(sender), from_->location().nonce);
}

TEST_F(LanePair, BogusSendersAndIndicesAreIgnored) {
    const std::uint16_t us = link_->index;
    const test::LogCapture log;
    forge_slot(us, kGeometry.slots);
    forge_slot(us, UINT16_MAX);
    forge_slot(us + 1U, 0);
    forge_slot(kMaxSenders, 0);
    forge_slot(UINT16_MAX, 0);
    forge(us, Lane::kInlineBytes + 1, false, 0);
    forge(us, UINT32_MAX, false, 0);
    ASSERT_TRUE(send("still there"));
    EXPECT_EQ(to_->progress(100), 8);
    ASSERT_EQ(inbox_.entries.size(), 1U);
    EXPECT_EQ(inbox_.entries[0].text, "still there");
    for (const std::uint32_t sender : {us + 1U, kMaxSenders, UINT32_MAX}) {
        EXPECT_TRUE(to_->chunk_of(sender, 0).empty());
        EXPECT_TRUE(to_->payload_of(sender).empty());
        to_->release_chunk(sender, 0);
    }
    EXPECT_TRUE(to_->chunk_of(us, kGeometry.chunks).empty());
    EXPECT_TRUE(to_->chunk_of(us, UINT32_MAX).empty());
    to_->release_chunk(us, UINT32_MAX);
    EXPECT_LE(log.lines().size(), 2U) << "one line a reason, not one a message";
    EXPECT_EQ(to_->nonce_of(UINT32_MAX), 0U);
}

TEST_F(LanePair, SlotThatClaimsTooMuchIsIgnoredAndFreed) {
    std::uint32_t index = 0;
    ASSERT_NE(from_->take_slot(index), nullptr);
    ASSERT_TRUE(from_->send_slot(*link_, index, kGeometry.slot_bytes + 1));
    EXPECT_EQ(to_->progress(1), 1);
    EXPECT_TRUE(inbox_.entries.empty());
    for (std::uint32_t i = 0; i < kGeometry.slots; ++i) {
        EXPECT_NE(from_->take_slot(index), nullptr);
    }
}

TEST_F(LanePair, DirectoryEntryOfAStrangerIsNotFollowed) {
    Segment& segment = link_->segment;
    const std::uint32_t index = segment.header().senders.fetch_add(1);
    Sender& entry = segment.sender(index);
    entry.pid = from_->location().pid;
    entry.start_time = from_->location().start_time;
    entry.nonce = from_->location().nonce + 1;
    entry.descriptor = from_->location().descriptor;
    entry.ready.store(1, std::memory_order_release);
    forge_slot(index, 0);
    EXPECT_EQ(to_->progress(1), 1);
    EXPECT_TRUE(inbox_.entries.empty());
}

TEST_F(LanePair, ItselfIsNoPeer) {
    EXPECT_EQ(to_->connect(to_->location()).status(), Status::kInvalid);
}

TEST_F(LanePair, FullDirectoryRefuses) {
    link_->segment.header().senders.store(kMaxSenders);
    EXPECT_EQ(from_->connect(to_->location()).status(), Status::kNoMemory);
    EXPECT_EQ(link_->segment.header().senders.load(), kMaxSenders);
}

/// Sends `count` numbered messages, every other one by slot, as fast as the queue takes them.
void send_numbers(Lane& lane, Link& link, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto number = std::as_bytes(std::span(&i, 1));
        if (i % 2 == 0) {
            while (!lane.send_inline(link, number, {})) {
                usleep(50);
            }
            continue;
        }
        std::uint32_t index = 0;
        std::byte* slot = nullptr;
        while ((slot = lane.take_slot(index)) == nullptr) {
            usleep(50);
        }
        std::memcpy(slot, &i, sizeof i);
        std::memset(slot + sizeof i, static_cast<int>(i), 200);
        while (!lane.send_slot(link, index, sizeof i + 200)) {
            usleep(50);
        }
    }
}

/// Checks that each sender's numbers come in order with their data whole.
struct Numbers {
    std::uint32_t next[3] = {};
    std::uint32_t wrong = 0;
    static void arrived(void* self, const Arrival& arrival) {
        auto& numbers = *static_cast<Numbers*>(self);
        std::uint32_t number = 0;
        if (arrival.sender >= 3 || arrival.message.size() < sizeof number) {
            ++numbers.wrong;
            return;
        }
        std::memcpy(&number, arrival.message.data(), sizeof number);
        bool good = number == numbers.next[arrival.sender]++;
        for (const std::byte byte : arrival.message.subspan(sizeof number)) {
            good = good && byte == static_cast<std::byte>(number);
        }
        numbers.wrong += good ? 0 : 1;
    }
};

TEST(Lane, SeveralProcessesSendInOrder) {
    constexpr std::uint32_t kCount = 3000;
    Numbers numbers;
    auto to = Lane::create(kGeometry, {Numbers::arrived, &numbers});
    ASSERT_TRUE(to.ok());
    pid_t children[3];
    for (pid_t& child : children) {
        child = fork();
        if (child == 0) {
            alarm(60);
            auto lane = Lane::create(kGeometry, {});
            auto link = (*lane)->connect((*to)->location());
            if (!link) {
                _exit(1);
            }
            send_numbers(**lane, **link, kCount);
            // The receiver reads our slots: stay until it has.
            std::uint32_t index = 0;
            for (std::uint32_t i = 0; i < kGeometry.slots; ++i) {
                while ((*lane)->take_slot(index) == nullptr) {
                    usleep(50);
                }
            }
            _exit(0);
        }
    }
    std::uint32_t read = 0;
    for (int idle = 0; read < 3 * kCount && idle < 2'000'000; ++idle) {
        const int now = (*to)->progress(16);
        read += static_cast<std::uint32_t>(now);
        if (now != 0) {
            idle = 0;
        } else {
            usleep(10);
        }
    }
    EXPECT_EQ(read, 3 * kCount);
    EXPECT_EQ(numbers.wrong, 0U);
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
}

TEST_F(LanePair, BlocksAreLeasedAndEmptied) {
    ASSERT_TRUE(send("hello"));
    to_->progress(10);
    ASSERT_EQ(inbox_.entries.size(), 1U);
    const std::uint32_t sender = inbox_.entries[0].sender;
    std::uint32_t leased[3] = {};
    std::uint32_t none = 0;
    for (std::uint32_t& index : leased) {
        ASSERT_TRUE(from_->lease_block(index));
    }
    EXPECT_FALSE(from_->lease_block(none));
    std::byte* memory = from_->idle_block(leased[0]);
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 0x42, kGeometry.block_bytes);
    from_->set_block(leased[0], true);
    EXPECT_EQ(from_->idle_block(leased[0]), nullptr);
    const auto seen = to_->block_of(sender, leased[0]);
    ASSERT_EQ(seen.size(), kGeometry.block_bytes);
    EXPECT_EQ(seen.back(), std::byte{0x42});
    // Returned while its receiver still reads it: the others are leased first, and it is not.
    from_->return_block(leased[1]);
    from_->return_block(leased[0]);
    ASSERT_TRUE(from_->lease_block(none));
    EXPECT_EQ(none, leased[1]);
    EXPECT_FALSE(from_->lease_block(none));
    to_->release_block(sender, leased[0]);
    ASSERT_TRUE(from_->lease_block(none));
    EXPECT_EQ(none, leased[0]);
    EXPECT_TRUE(to_->block_of(sender, kGeometry.blocks).empty());
    EXPECT_TRUE(to_->block_of(kMaxSenders, 0).empty());
    to_->release_block(sender, kGeometry.blocks);
    to_->release_block(kMaxSenders, 0);
}

// A damaged queue is named, and does not stand still.
TEST_F(LanePair, DamagedCellIsPassedOver) {
    const test::LogCapture log(LogLevel::kWarning);
    for (const std::uint64_t damage :
         {std::uint64_t{0xdeadbeef}, UINT64_MAX, std::uint64_t{7777}}) {
        inbox_.entries.clear();
        ASSERT_TRUE(send("lost"));
        const std::uint64_t position = link_->segment.tail<Queue::kNarrow>().load() - 1;
        link_->segment.cell<Queue::kNarrow>(position).sequence.store(damage);
        ASSERT_TRUE(send("after"));
        to_->check();
        to_->progress(10);
        ASSERT_EQ(inbox_.entries.size(), 1U);
        EXPECT_EQ(inbox_.entries[0].text, "after");
        EXPECT_EQ(log.count("is damaged"), 1);
        // Nobody has taken the next cell yet: its sender puts it right, and nothing is lost.
        link_->segment.cell<Queue::kNarrow>(position + 2).sequence.store(damage);
        to_->check();
        EXPECT_TRUE(send("then"));
        to_->progress(10);
        ASSERT_EQ(inbox_.entries.size(), 2U);
        EXPECT_EQ(inbox_.entries[1].text, "then");
        // A whole lap later all cells are in order.
        for (int i = 0; i < 40; ++i) {
            ASSERT_TRUE(send("lap"));
            to_->check();
            EXPECT_EQ(to_->progress(10), 1);
        }
    }
}

}  // namespace
}  // namespace beeline::mover::shm
