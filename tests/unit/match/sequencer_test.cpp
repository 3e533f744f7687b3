// SPDX-License-Identifier: BSD-3-Clause
// Messages that overtake each other come out in the order of their numbers.
#include "match/sequencer.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/uniform.hpp"

namespace beeline::match {
namespace {

/// Hands `sequence` over as an engine does, and appends what becomes due to `out`.
void arrive(Sequencer& sequencer, Held& message, std::vector<std::uint32_t>& out) {
    switch (sequencer.accept(message.sequence)) {
        case Order::kNext:
            out.push_back(message.sequence);
            while (Held* due = sequencer.ready()) {
                out.push_back(due->sequence);
            }
            break;
        case Order::kEarly:
            ASSERT_TRUE(sequencer.hold(&message));
            break;
        case Order::kDuplicate:
            FAIL() << message.sequence;
    }
}

TEST(Sequencer, NumbersWhatIsSent) {
    Sequencer sequencer;
    EXPECT_EQ(sequencer.next_to_send(), 0u);
    EXPECT_EQ(sequencer.next_to_send(), 1u);
    EXPECT_EQ(sequencer.awaited(), 0u) << "both directions count on their own";
}

TEST(Sequencer, JudgesByTheAwaitedNumber) {
    Sequencer sequencer(10);
    EXPECT_EQ(sequencer.accept(11), Order::kEarly);
    EXPECT_EQ(sequencer.accept(9), Order::kDuplicate);
    EXPECT_EQ(sequencer.accept(0), Order::kDuplicate);
    EXPECT_EQ(sequencer.accept(UINT32_MAX), Order::kDuplicate) << "just before 0, so long past";
    EXPECT_EQ(sequencer.accept(10u + INT32_MAX), Order::kEarly);
    EXPECT_EQ(sequencer.accept(10), Order::kNext);
    EXPECT_EQ(sequencer.accept(10), Order::kDuplicate);
    EXPECT_EQ(sequencer.awaited(), 11u);
}

TEST(Sequencer, HoldsOneOfANumberOnly) {
    Sequencer sequencer;
    Held first;
    Held again;
    first.sequence = again.sequence = 3;
    EXPECT_TRUE(sequencer.hold(&first));
    EXPECT_FALSE(sequencer.hold(&again));
    EXPECT_EQ(sequencer.ready(), nullptr) << "0 has not come";
    EXPECT_EQ(sequencer.drop(), &first);
    EXPECT_FALSE(sequencer.holds_any());
    EXPECT_EQ(sequencer.drop(), nullptr);
}

TEST(Sequencer, EveryPermutationOfSixComesOutInOrder) {
    std::vector<std::uint32_t> order(6);
    std::iota(order.begin(), order.end(), 0u);
    const std::vector<std::uint32_t> sorted = order;
    do {
        Sequencer sequencer;
        std::vector<Held> messages(order.size());
        std::vector<std::uint32_t> out;
        for (std::size_t index = 0; index < order.size(); ++index) {
            messages[index].sequence = order[index];
            arrive(sequencer, messages[index], out);
        }
        ASSERT_EQ(out, sorted);
        ASSERT_FALSE(sequencer.holds_any());
    } while (std::ranges::next_permutation(order).found);
}

RC_GTEST_PROP(SequencerProperty, AnyOrderWithinAWindowComesOutSorted, ()) {
    const auto start = *test::uniform<std::uint32_t>(0, 500);
    const auto count = *test::uniform<std::uint32_t>(1, 200);
    Sequencer sequencer(start - 250);  // some starts lie before the wrap to 0
    std::vector<std::uint32_t> sorted(count);
    std::iota(sorted.begin(), sorted.end(), start - 250);
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> left = sorted;
    while (!left.empty()) {
        const auto reach = std::min<std::size_t>(left.size(), 32);
        const auto pick = *test::uniform<std::size_t>(0, reach);
        order.push_back(left[pick]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    std::vector<Held> messages(count);
    std::vector<std::uint32_t> out;
    for (std::size_t index = 0; index < count; ++index) {
        messages[index].sequence = order[index];
        arrive(sequencer, messages[index], out);
    }
    RC_ASSERT(out == sorted);
    RC_ASSERT(!sequencer.holds_any());
}

}  // namespace
}  // namespace beeline::match
