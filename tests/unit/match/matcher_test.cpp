// SPDX-License-Identifier: BSD-3-Clause
// MPI's matching rules one by one, and queues deep enough to make the tables grow.
#include "match/matcher.hpp"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace beeline::match {
namespace {

template <class T>
T make(std::int32_t source, std::int32_t tag) {
    T node;
    node.source = source;
    node.tag = tag;
    return node;
}
Posted receive(std::int32_t source, std::int32_t tag) {
    return make<Posted>(source, tag);
}
Unexpected message(std::int32_t source, std::int32_t tag) {
    return make<Unexpected>(source, tag);
}

TEST(Matcher, StartsEmpty) {
    Matcher matcher;
    EXPECT_TRUE(matcher.empty());
    EXPECT_EQ(matcher.arrive(0, 0), nullptr);
    EXPECT_EQ(matcher.probe(kAnySource, kAnyTag), nullptr);
    EXPECT_EQ(matcher.oldest_unexpected(), nullptr);
}

TEST(Matcher, AnArrivalTakesTheReceiveThatNamesIt) {
    Matcher matcher;
    Posted other_source = receive(1, 5);
    Posted other_tag = receive(2, 6);
    Posted right = receive(2, 5);
    for (Posted* each : {&other_source, &other_tag, &right}) {
        EXPECT_EQ(matcher.post(each), nullptr);
    }
    EXPECT_EQ(matcher.arrive(2, 5), &right);
    EXPECT_FALSE(right.queued());
    EXPECT_EQ(matcher.arrive(2, 5), nullptr);
    EXPECT_EQ(matcher.posted_count(), 2u);
}

TEST(Matcher, EqualReceivesAreServedInTheOrderPosted) {
    Matcher matcher;
    Posted first = receive(0, 1);
    Posted second = receive(0, 1);
    matcher.post(&first);
    matcher.post(&second);
    EXPECT_EQ(matcher.arrive(0, 1), &first);
    EXPECT_EQ(matcher.arrive(0, 1), &second);
    EXPECT_TRUE(matcher.empty());
}

/// Each kind of receive is the oldest once; the others are posted after it in two orders.
TEST(Matcher, TheOldestWinsAmongExactAndWildcards) {
    for (int oldest = 0; oldest < 4; ++oldest) {
        for (const bool reversed : {false, true}) {
            Matcher matcher;
            Posted kinds[] = {receive(3, 7), receive(kAnySource, 7), receive(3, kAnyTag),
                              receive(kAnySource, kAnyTag)};
            matcher.post(&kinds[oldest]);
            for (int step = 1; step < 4; ++step) {
                matcher.post(&kinds[(oldest + (reversed ? 4 - step : step)) % 4]);
            }
            EXPECT_EQ(matcher.arrive(3, 7), &kinds[oldest]) << oldest;
        }
    }
}

TEST(Matcher, AnyTagLeavesNegativeTagsAlone) {
    Matcher matcher;
    Posted any = receive(kAnySource, kAnyTag);
    Posted from_one = receive(1, kAnyTag);
    Posted internal = receive(kAnySource, -3);
    matcher.post(&any);
    matcher.post(&from_one);
    matcher.post(&internal);
    EXPECT_EQ(matcher.arrive(1, -4), nullptr);
    EXPECT_EQ(matcher.arrive(1, -3), &internal);

    Unexpected hidden = message(1, -4);
    matcher.add_unexpected(&hidden);
    EXPECT_EQ(matcher.probe(kAnySource, kAnyTag), nullptr);
    EXPECT_EQ(matcher.probe(1, kAnyTag), nullptr);
    EXPECT_EQ(matcher.oldest_unexpected(), &hidden);
    EXPECT_EQ(matcher.probe(kAnySource, -4), &hidden);
    Posted exact = receive(1, -4);
    EXPECT_EQ(matcher.post(&exact), &hidden);
    EXPECT_FALSE(exact.queued());
}

TEST(Matcher, AReceiveTakesTheOldestMessageItAccepts) {
    Matcher matcher;
    Unexpected first = message(0, 1);
    Unexpected second = message(1, 2);
    Unexpected third = message(0, 2);
    Unexpected fourth = message(0, 1);
    for (Unexpected* each : {&first, &second, &third, &fourth}) {
        matcher.add_unexpected(each);
    }
    Posted any_with_two = receive(kAnySource, 2);
    EXPECT_EQ(matcher.post(&any_with_two), &second);
    Posted any_from_zero = receive(0, kAnyTag);
    EXPECT_EQ(matcher.post(&any_from_zero), &first);
    Posted exact = receive(0, 1);
    EXPECT_EQ(matcher.post(&exact), &fourth);
    Posted any = receive(kAnySource, kAnyTag);
    EXPECT_EQ(matcher.post(&any), &third);
    EXPECT_TRUE(matcher.empty());
}

TEST(Matcher, AProbeLeavesTheMessageAndExtractTakesIt) {
    Matcher matcher;
    Unexpected first = message(4, 9);
    Unexpected second = message(4, 9);
    matcher.add_unexpected(&first);
    matcher.add_unexpected(&second);
    EXPECT_EQ(matcher.probe(4, 9), &first);
    EXPECT_EQ(matcher.probe(kAnySource, 9), &first);
    EXPECT_EQ(matcher.unexpected_count(), 2u);
    matcher.extract(&first);
    EXPECT_EQ(matcher.probe(4, 9), &second);
    EXPECT_EQ(matcher.unexpected_count(), 1u);
    matcher.extract(&second);
    EXPECT_TRUE(matcher.empty());
}

TEST(Matcher, CancelTellsWhetherTheReceiveWasStillQueued) {
    Matcher matcher;
    Posted first = receive(0, 0);
    Posted second = receive(0, 0);
    Posted wild = receive(kAnySource, 0);
    EXPECT_FALSE(matcher.cancel(&first)) << "never posted";
    matcher.post(&first);
    matcher.post(&second);
    matcher.post(&wild);
    EXPECT_TRUE(matcher.cancel(&first));
    EXPECT_FALSE(matcher.cancel(&first));
    EXPECT_EQ(matcher.arrive(0, 0), &second);
    EXPECT_FALSE(matcher.cancel(&second)) << "matched";
    EXPECT_TRUE(matcher.cancel(&wild));
    EXPECT_TRUE(matcher.empty());
}

TEST(Matcher, AReceiveCanBePostedAgain) {
    Matcher matcher;
    Posted persistent = receive(2, 2);
    Posted younger = receive(2, 2);
    matcher.post(&persistent);
    matcher.post(&younger);
    EXPECT_EQ(matcher.arrive(2, 2), &persistent);
    matcher.post(&persistent);
    EXPECT_EQ(matcher.arrive(2, 2), &younger) << "its new place is last";
    EXPECT_EQ(matcher.arrive(2, 2), &persistent);
}

TEST(Matcher, ThousandsOfKeysFindTheirOwn) {
    constexpr int kSources = 100;
    constexpr int kTags = 50;
    Matcher matcher;
    std::vector<std::unique_ptr<Posted>> receives;
    std::vector<std::unique_ptr<Unexpected>> messages;
    for (int source = 0; source < kSources; ++source) {
        for (int tag = 0; tag < kTags; ++tag) {
            receives.push_back(std::make_unique<Posted>(receive(source, tag)));
            messages.push_back(std::make_unique<Unexpected>(message(source, tag + kTags)));
            ASSERT_EQ(matcher.post(receives.back().get()), nullptr);
            matcher.add_unexpected(messages.back().get());
        }
    }
    EXPECT_EQ(matcher.posted_count(), receives.size());
    EXPECT_EQ(matcher.unexpected_count(), messages.size());
    for (std::size_t index = receives.size(); index-- > 0;) {
        ASSERT_EQ(matcher.arrive(receives[index]->source, receives[index]->tag),
                  receives[index].get());
        Posted taker = receive(messages[index]->source, messages[index]->tag);
        ASSERT_EQ(matcher.post(&taker), messages[index].get());
    }
    EXPECT_TRUE(matcher.empty());
}

TEST(Matcher, VisitorsSeeEverything) {
    Matcher matcher;
    Posted receives[] = {receive(0, 1), receive(0, 1), receive(kAnySource, 1), receive(5, kAnyTag)};
    Unexpected messages[] = {message(8, 1), message(7, 2), message(8, 3)};
    for (Posted& each : receives) {
        matcher.post(&each);
    }
    for (Unexpected& each : messages) {
        matcher.add_unexpected(&each);
    }
    std::multiset<const Posted*> seen;
    matcher.for_each_posted([&](const Posted& each) { seen.insert(&each); });
    EXPECT_EQ(seen, (std::multiset<const Posted*>{&receives[0], &receives[1], &receives[2],
                                                  &receives[3]}));
    std::vector<const Unexpected*> arrived;
    matcher.for_each_unexpected([&](Unexpected& each) {
        arrived.push_back(&each);
        matcher.extract(&each);
    });
    EXPECT_EQ(arrived, (std::vector<const Unexpected*>{&messages[0], &messages[1], &messages[2]}));
    EXPECT_EQ(matcher.unexpected_count(), 0u);
}

TEST(KeyedQueues, OneBucketUntilThereIsMoreThanOneKey) {
    KeyedQueues queues;
    std::vector<Unexpected> nodes(100, message(0, 0));
    for (Unexpected& node : nodes) {
        queues.append(&node);
    }
    EXPECT_EQ(queues.keys(), 1u);
    EXPECT_EQ(queues.bucket_count(), 1u);
    EXPECT_EQ(queues.find(0, 0), &nodes.front());
}

TEST(KeyedQueues, NeverMoreKeysThanBuckets) {
    KeyedQueues queues;
    std::vector<std::unique_ptr<Unexpected>> nodes;
    for (int tag = 0; tag < 5000; ++tag) {
        nodes.push_back(std::make_unique<Unexpected>(message(tag % 7, tag)));
        queues.append(nodes.back().get());
        ASSERT_LE(queues.keys(), queues.bucket_count());
    }
    EXPECT_EQ(queues.keys(), nodes.size());
}

TEST(KeyedQueues, TheNextOfAKeyInheritsItsPlace) {
    for (std::size_t victim = 0; victim < 3; ++victim) {
        KeyedQueues queues;
        Unexpected others[] = {message(1, 1), message(2, 2), message(3, 3)};
        Unexpected nodes[] = {message(0, 4), message(0, 4), message(0, 4)};
        for (std::size_t index = 0; index < 3; ++index) {
            queues.append(&nodes[index]);
            queues.append(&others[index]);
        }
        queues.remove(&nodes[victim]);
        for (std::size_t index = 0; index < 3; ++index) {
            if (index != victim) {
                ASSERT_EQ(queues.find(0, 4), &nodes[index]);
                queues.remove(&nodes[index]);
            }
        }
        EXPECT_EQ(queues.find(0, 4), nullptr);
        EXPECT_EQ(queues.keys(), 3u);
        for (Unexpected& other : others) {
            EXPECT_EQ(queues.find(other.source, other.tag), &other);
        }
    }
}

}  // namespace
}  // namespace beeline::match
