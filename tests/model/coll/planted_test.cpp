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
    return op.kind == OpKind::kSend && op.count > 0;
}
bool is_receive(const Op& op) {
    return op.kind == OpKind::kReceive && op.count > 0;
}
bool moves_message(const Op& op) {
    return is_message(op.kind);
}
bool is_reduce(const Op& op) {
    return op.kind == OpKind::kReduce;
}
/// A copy of one chunk more may do no harm.
bool is_not_copy(const Op& op) {
    return op.kind != OpKind::kCopy;
}
bool any(const Op&) {
    return true;
}

constexpr Mistake kMistakes[] = {
    {"one chunk short", [](Op& op) { op.count -= 1; }, any},
    {"one chunk long", [](Op& op) { op.count += 1; }, is_not_copy},
    {"wrong channel", [](Op& op) { op.channel += 1; }, moves_message},
    {"wrong peer", [](Op& op) { op.peer = (op.peer + 1) % 5; }, moves_message},
    {"receive one off", [](Op& op) { op.target.chunk += 1; }, is_receive},
    {"send one off", [](Op& op) { op.source.chunk += 1; }, is_send},
    {"operand one off", [](Op& op) { op.second.chunk += 1; }, is_reduce},
    {"operand twice", [](Op& op) { op.source = op.second; }, is_reduce},
    {"copied, not reduced", [](Op& op) { op.kind = OpKind::kCopy; }, is_reduce},
    {"sent, not received",
     [](Op& op) {
         op.kind = OpKind::kSend;
         op.source = op.target;
     },
     is_receive},
};

class Planted : public testing::TestWithParam<const Algorithm*> {
 protected:
    /// Small worlds that the algorithm serves: plain and in place.
    static std::vector<std::vector<Schedule>> worlds() {
        std::vector<std::vector<Schedule>> result;
        for (const bool in_place : {false, true}) {
            Request request;
            request.collective = GetParam()->collective;
            // Of five ranks a barrier needs less than it does.
            request.size = request.collective == Collective::kBarrier ? 7 : 5;
            request.root = 1;
            request.in_place = in_place;
            request.cut = Cut::kVarying;
            if (GetParam()->refuses(request) != nullptr) {
                request.cut = Cut::kEqual;
            }
            if (refuses(*GetParam(), request) == nullptr && !on_neighbors(request.collective)) {
                result.push_back(build_world(*GetParam(), request));
            }
        }
        return result;
    }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Planted);

TEST_P(Planted, EveryMistakeInEveryOpIsFound) {
    for (const std::vector<Schedule>& good : worlds()) {
        ASSERT_EQ(validate(good).problem, "");
        for (std::size_t rank = 0; rank < good.size(); ++rank) {
            for (std::size_t number = 0; number < good[rank].ops.size(); ++number) {
                for (const Mistake& mistake : kMistakes) {
                    std::vector<Schedule> bad = good;
                    Op& op = bad[rank].ops[number];
                    if (mistake.applies(op)) {
                        mistake.plant(op);
                        EXPECT_FALSE(validate(bad).ok())
                            << mistake.name << " in op " << number << " of\n"
                            << print(good[rank]);
                    }
                }
            }
        }
    }
}

/// `schedule` without op `lost` and without dependencies on it.
Schedule without(const Schedule& schedule, std::int32_t lost) {
    Schedule result = schedule;
    result.ops.clear();
    result.dependencies.clear();
    for (std::size_t number = 0; number < schedule.ops.size(); ++number) {
        std::vector<std::int32_t> after;
        for (const std::int32_t before : schedule.after(schedule.ops[number])) {
            after.push_back(before == lost ? kNone : before > lost ? before - 1 : before);
        }
        if (static_cast<std::int32_t>(number) != lost) {
            append(result, schedule.ops[number], after);
        }
    }
    return result;
}

TEST_P(Planted, EveryLostOpIsFound) {
    for (const std::vector<Schedule>& good : worlds()) {
        for (std::size_t rank = 0; rank < good.size(); ++rank) {
            for (std::size_t lost = 0; lost < good[rank].ops.size(); ++lost) {
                std::vector<Schedule> bad = good;
                bad[rank] = without(good[rank], static_cast<std::int32_t>(lost));
                EXPECT_FALSE(validate(bad).ok()) << "op " << lost << " lost from\n"
                                                 << print(good[rank]);
            }
        }
    }
}

// An op that depends on others does so for a reason: otherwise there is a race.
TEST_P(Planted, LostDependenciesAreFound) {
    for (const std::vector<Schedule>& good : worlds()) {
        for (std::size_t rank = 0; rank < good.size(); ++rank) {
            for (std::size_t number = 0; number < good[rank].ops.size(); ++number) {
                if (good[rank].ops[number].afters == 0) {
                    continue;
                }
                std::vector<Schedule> bad = good;
                bad[rank].ops[number].afters = 0;
                EXPECT_FALSE(validate(bad).ok()) << "op " << number << " needs no dependency in\n"
                                                 << print(good[rank]);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Planted, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& instance) { return name_of(instance); });

std::vector<Schedule> doubling(int size, bool in_place = false) {
    Request request;
    request.size = size;
    request.in_place = in_place;
    return build_world(*find(Collective::kAllreduce, "recursive_doubling"), request);
}

TEST(Mistakes, ADeadlockIsFound) {
    // Both wait for their own send before they post the receive it needs.
    std::vector<Schedule> world = doubling(2);
    for (Schedule& schedule : world) {
        Schedule changed = schedule;
        changed.ops.clear();
        changed.dependencies.clear();
        const std::int32_t sent = append(changed, schedule.ops[1], {});
        const std::int32_t received = append(changed, schedule.ops[0], {&sent, 1});
        append(changed, schedule.ops[2], {&received, 1});
        schedule = changed;
    }
    EXPECT_NE(validate(world).problem.find("finds no partner"), std::string::npos);
}

TEST(Mistakes, ALostOrderIsFound) {
    std::vector<Schedule> world = doubling(4);
    for (Schedule& schedule : world) {
        for (Op& op : schedule.ops) {
            if (op.kind == OpKind::kReduce) {
                std::swap(op.source, op.second);
            }
        }
    }
    EXPECT_NE(validate(world).problem.find("not in rank order"), std::string::npos);
}

TEST(Mistakes, AWriteToTheInputIsFound) {
    std::vector<Schedule> world = doubling(2);
    world[1].ops[2].target = world[1].ops[2].second;
    EXPECT_NE(validate(world).problem.find("writes the input"), std::string::npos);
}

TEST(Mistakes, OtherShapesAreFound) {
    std::vector<Schedule> world = doubling(3);
    world[1].output_blocks = 0;
    EXPECT_NE(validate(world).problem, "");
    world = doubling(3);
    world[2].collective = Collective::kScan;
    EXPECT_NE(validate(world).problem, "");
    world = doubling(3);
    world[2].slices = 0;
    EXPECT_NE(validate(world).problem, "");
    world = doubling(3);
    world[0].mirrors = 0xffffffff;
    EXPECT_NE(validate(world).problem, "");
    world = doubling(3);
    world[0].ops[0].first_after = 0xffffffff;
    EXPECT_NE(validate(world).problem, "");
}

}  // namespace
}  // namespace beeline::coll::plan
