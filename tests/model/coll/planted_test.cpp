// SPDX-License-Identifier: BSD-3-Clause
// The proof finds mistakes: each planted one is refused, and so is every lost dependency that
// matters.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "coll/plan/validate.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::plan {
namespace {

struct Mistake {
    const char* name;
    void (*plant)(Op& op);
    bool (*applies)(const Op& op);
};

bool is_send(const Op& op) {
    return op.kind == OpKind::kSend;
}
bool is_receive(const Op& op) {
    return op.kind == OpKind::kReceive;
}
bool is_message(const Op& op) {
    return is_send(op) || is_receive(op);
}
bool is_reduce(const Op& op) {
    return op.kind == OpKind::kReduce;
}
bool any(const Op&) {
    return true;
}

constexpr Mistake kMistakes[] = {
    {"one element short", [](Op& op) { op.count -= 1; }, any},
    {"one element long", [](Op& op) { op.count += 1; }, any},
    {"wrong channel", [](Op& op) { op.channel += 1; }, is_message},
    {"wrong peer", [](Op& op) { op.peer = (op.peer + 1) % 5; }, is_message},
    {"receive one off", [](Op& op) { op.target.offset += 1; }, is_receive},
    {"send one off", [](Op& op) { op.source.offset += 1; }, is_send},
    {"operand one off", [](Op& op) { op.second.offset += 1; }, is_reduce},
    {"operand twice", [](Op& op) { op.source = op.second; }, is_reduce},
    {"copied, not reduced", [](Op& op) { op.kind = OpKind::kCopy; }, is_reduce},
    {"sent, not received",
     [](Op& op) {
         op.kind = OpKind::kSend;
         op.source = op.target;
     },
     is_receive},
};

class Planted : public testing::TestWithParam<std::tuple<Builder, InPlace>> {};

TEST_P(Planted, EveryMistakeInEveryOpIsFound) {
    const auto [builder, in_place] = GetParam();
    const std::vector<Schedule> good = build_world(builder, 5, 22, in_place);
    ASSERT_EQ(validate(good).problem, "");
    for (std::size_t rank = 0; rank < good.size(); ++rank) {
        for (std::size_t index = 0; index < good[rank].ops.size(); ++index) {
            for (const Mistake& mistake : kMistakes) {
                std::vector<Schedule> bad = good;
                Op& op = bad[rank].ops[index];
                if (mistake.applies(op)) {
                    mistake.plant(op);
                    EXPECT_FALSE(validate(bad).ok())
                        << mistake.name << " in op " << index << " of\n"
                        << print(good[rank]);
                }
            }
        }
    }
}

TEST_P(Planted, EveryLostOpIsFound) {
    const auto [builder, in_place] = GetParam();
    const std::vector<Schedule> good = build_world(builder, 5, 22, in_place);
    for (std::size_t rank = 0; rank < good.size(); ++rank) {
        for (std::size_t index = 0; index < good[rank].ops.size(); ++index) {
            std::vector<Schedule> bad = good;
            std::vector<Op>& ops = bad[rank].ops;
            ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(index));
            for (Op& op : ops) {
                for (std::int32_t& before : op.after) {
                    const auto lost = static_cast<std::int32_t>(index);
                    before = before == lost ? kNone : before > lost ? before - 1 : before;
                }
            }
            EXPECT_FALSE(validate(bad).ok()) << "op " << index << " lost from\n"
                                             << print(good[rank]);
        }
    }
}

// An op that depends on something does so for a reason: otherwise there is a race.
TEST_P(Planted, LostDependenciesAreFound) {
    const auto [builder, in_place] = GetParam();
    const std::vector<Schedule> good = build_world(builder, 5, 22, in_place);
    std::size_t planted = 0;
    for (std::size_t rank = 0; rank < good.size(); ++rank) {
        for (std::size_t index = 0; index < good[rank].ops.size(); ++index) {
            std::vector<Schedule> bad = good;
            std::array<std::int32_t, 3>& after = bad[rank].ops[index].after;
            if (after[0] == kNone && after[1] == kNone) {
                continue;
            }
            after = {kNone, kNone, kNone};
            ++planted;
            EXPECT_FALSE(validate(bad).ok()) << "op " << index << " needs no dependency in\n"
                                             << print(good[rank]);
        }
    }
    EXPECT_GT(planted, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Planted,
                         testing::Combine(testing::Values(Builder::kRing, Builder::kSlicedRing,
                                                          Builder::kRecursiveDoubling),
                                          testing::Values(InPlace::kNobody, InPlace::kAll)));

TEST(Planted, ADeadlockIsFound) {
    // Both wait for their own send before they post the receive it needs.
    std::vector<Schedule> world = build_world(Builder::kRecursiveDoubling, 2, 4, InPlace::kNobody);
    for (Schedule& schedule : world) {
        Op send = schedule.ops[1];
        Op receive = schedule.ops[0];
        receive.after[0] = 0;
        schedule.ops[0] = send;
        schedule.ops[1] = receive;
        schedule.ops[2].after[0] = 1;
    }
    EXPECT_NE(validate(world).problem, "");
}

TEST(Planted, ALostOrderIsFound) {
    std::vector<Schedule> world = build_world(Builder::kRecursiveDoubling, 4, 4, InPlace::kNobody);
    for (Schedule& schedule : world) {
        for (Op& op : schedule.ops) {
            if (op.kind == OpKind::kReduce) {
                std::swap(op.source, op.second);
            }
        }
    }
    EXPECT_NE(validate(world).problem.find("not in rank order"), std::string::npos);
    // The ring does not claim an order.
    EXPECT_FALSE(build_allreduce_ring(4, 0, 4, false).ordered);
}

TEST(Planted, AWriteToTheInputIsFound) {
    std::vector<Schedule> world = build_world(Builder::kRecursiveDoubling, 2, 4, InPlace::kNobody);
    world[1].ops[2].target = world[1].ops[2].second;
    EXPECT_NE(validate(world).problem.find("writes the input"), std::string::npos);
}

}  // namespace
}  // namespace beeline::coll::plan
