// SPDX-License-Identifier: BSD-3-Clause
// Schedules that files brought: what they are proved to serve, and what they are not.
#include <gtest/gtest.h>

#include "coll/plan/json.hpp"
#include "coll/plan/loaded.hpp"
#include "coll/plan/transform.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::plan {
namespace {

constexpr int kRanks = 4;

Request request_of(const Algorithm& algorithm, int ranks = kRanks) {
    Request request;
    request.collective = algorithm.collective;
    request.size = ranks;
    request.root = rooted(algorithm.collective) ? ranks - 1 : 0;
    return request;
}

/// A built-in algorithm as a file would bring it.
Imported exported(const Algorithm& algorithm, const Request& request, const Range& bytes = {}) {
    Imported imported = from_json(to_json(build_world(algorithm, request), {}, bytes));
    EXPECT_EQ(imported.problem, "");
    return imported;
}

const Algorithm& ring() {
    return *find(Collective::kAllreduce, "ring");
}

class EachLoaded : public testing::TestWithParam<const Algorithm*> {};

/// Proves what a loaded algorithm builds for `request`; odd ranks are in place if `mixed`.
std::string prove_built(const Algorithm& algorithm, Request request, bool mixed) {
    std::vector<Schedule> world;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
        request.in_place = mixed ? request.rank % 2 == 1 : request.in_place;
        world.push_back(algorithm.build(request));
        EXPECT_EQ(world.back().algorithm, "mine");
    }
    return validate(world).problem;
}

TEST_P(EachLoaded, ServesCallersInPlaceAndOthers) {
    for (const bool in_place : {false, true}) {
        Request request = request_of(*GetParam());
        request.in_place = in_place;
        if (refuses(*GetParam(), request) != nullptr) {
            continue;
        }
        Loaded loaded(GetParam()->collective, "mine");
        ASSERT_EQ(loaded.add(exported(*GetParam(), request)), "");
        for (const Cut cut : {Cut::kEqual, Cut::kVarying, Cut::kScattered}) {
            request.cut = cut;
            for (const bool caller : {false, true}) {
                request.in_place = caller;
                if (refuses(loaded.algorithm(), request) == nullptr) {
                    EXPECT_EQ(prove_built(loaded.algorithm(), request, false), "")
                        << to_string(cut) << caller << in_place;
                } else {
                    // Equal blocks are always served.
                    EXPECT_TRUE(cut != Cut::kEqual ||
                                (caller && GetParam()->collective == Collective::kReduceScatter))
                        << refuses(loaded.algorithm(), request);
                }
            }
        }
        if (on_vector(GetParam()->collective)) {
            EXPECT_EQ(prove_built(loaded.algorithm(), request, true), "");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EachLoaded, testing::ValuesIn(all_but_neighbors()),
                         [](const auto& instance) { return name_of(instance); });

TEST(Loaded, ServesItsNumberOfRanksOnly) {
    Loaded loaded(Collective::kAllreduce, "mine");
    ASSERT_EQ(loaded.add(exported(ring(), request_of(ring(), 4))), "");
    EXPECT_EQ(refuses(loaded.algorithm(), request_of(ring(), 4)), nullptr);
    EXPECT_STREQ(refuses(loaded.algorithm(), request_of(ring(), 3)), "it is for 4 ranks");
    // Another file of the same name serves another number.
    ASSERT_EQ(loaded.add(exported(ring(), request_of(ring(), 3))), "");
    EXPECT_EQ(refuses(loaded.algorithm(), request_of(ring(), 3)), nullptr);
    EXPECT_EQ(refuses(loaded.algorithm(), request_of(ring(), 4)), nullptr);
    EXPECT_STREQ(refuses(loaded.algorithm(), request_of(ring(), 5)),
                 "it is for other numbers of ranks");
    EXPECT_EQ(loaded.add(exported(ring(), request_of(ring(), 3))),
              "there is another schedule mine for 3 ranks; allowed: another name");
}

TEST(Loaded, ServesItsRootOnly) {
    const Algorithm& binomial = *find(Collective::kBcast, "binomial");
    Loaded loaded(Collective::kBcast, "mine");
    ASSERT_EQ(loaded.add(exported(binomial, request_of(binomial))), "");
    Request request = request_of(binomial);
    EXPECT_EQ(refuses(loaded.algorithm(), request), nullptr);
    request.root = 0;
    EXPECT_STREQ(refuses(loaded.algorithm(), request), "it is for another root");
    ASSERT_EQ(loaded.add(exported(binomial, request)), "");
    EXPECT_EQ(refuses(loaded.algorithm(), request), nullptr);
}

// The file need not claim that operands keep their order: that is proved.
TEST(Loaded, ServesOperationsThatDoNotCommuteWhereTheProofHolds) {
    for (const Algorithm* algorithm : algorithms(Collective::kAllreduce)) {
        Request request = request_of(*algorithm);
        Imported imported = exported(*algorithm, request);
        for (Schedule& schedule : imported.world) {
            schedule.ordered = false;
        }
        Loaded loaded(Collective::kAllreduce, "mine");
        ASSERT_EQ(loaded.add(imported), "");
        request.commutative = false;
        const bool serves = refuses(loaded.algorithm(), request) == nullptr;
        EXPECT_TRUE(serves || refuses(*algorithm, request) != nullptr) << algorithm->name;
        EXPECT_EQ(serves && refuses(loaded.algorithm(), request) != nullptr, false);
        if (serves) {
            EXPECT_TRUE(loaded.algorithm().build(request).ordered);
        }
        if (algorithm == &ring()) {
            EXPECT_STREQ(refuses(loaded.algorithm(), request), "the operation does not commute");
        }
    }
}

TEST(Loaded, ClaimsTheSizesOfItsFile) {
    Loaded loaded(Collective::kAllreduce, "mine");
    const Request request = request_of(ring());
    ASSERT_EQ(loaded.add(exported(ring(), request, {1024, 65535})), "");
    EXPECT_FALSE(loaded.algorithm().claims(request, 1023));
    EXPECT_TRUE(loaded.algorithm().claims(request, 1024));
    EXPECT_TRUE(loaded.algorithm().claims(request, 65535));
    EXPECT_FALSE(loaded.algorithm().claims(request, 65536));
    EXPECT_FALSE(loaded.algorithm().claims(request_of(ring(), 5), 1024));
    Loaded unbounded(Collective::kAllreduce, "mine");
    ASSERT_EQ(unbounded.add(exported(ring(), request)), "");
    EXPECT_TRUE(unbounded.algorithm().claims(request, 0));
    EXPECT_TRUE(unbounded.algorithm().claims(request, 1e15));
}

TEST(Loaded, CostsWhatItsOpsDo) {
    const Request request = request_of(ring());
    Loaded loaded(Collective::kAllreduce, "mine");
    ASSERT_EQ(loaded.add(exported(ring(), request)), "");
    const Cost expected = ring().cost(request, 4096);
    const Cost cost = loaded.algorithm().cost(request, 4096);
    EXPECT_EQ(cost.steps, expected.steps);
    EXPECT_EQ(cost.bytes, expected.bytes);
    EXPECT_EQ(cost.reduced, expected.reduced);
}

TEST(Loaded, RefusesWhatCannotBeRun) {
    Imported imported = exported(ring(), request_of(ring()));
    for (Schedule& schedule : imported.world) {
        for (Op& op : schedule.ops) {
            op.channel = 256;
        }
    }
    Loaded loaded(Collective::kAllreduce, "mine");
    EXPECT_EQ(loaded.add(imported), "channel 256 cannot be run; allowed: 0 to 255");
    EXPECT_STREQ(refuses(loaded.algorithm(), request_of(ring())), "it has no schedule");

    const Algorithm& direct = *find(Collective::kNeighborAlltoall, "direct");
    Request request = request_of(direct);
    const std::vector<Neighbors> neighbors(kRanks);
    Loaded neighbor(Collective::kNeighborAlltoall, "mine");
    EXPECT_NE(neighbor.add(from_json(to_json(build_world(direct, request), neighbors))), "");
}

TEST(Loaded, NamesAreLettersDigitsAndUnderscores) {
    Imported imported = exported(ring(), request_of(ring()));
    imported.world[0].algorithm = "two-step (nodes=2)";
    EXPECT_EQ(name_of(imported), "two_step__nodes_2_");
    imported.world[0].algorithm = "";
    EXPECT_EQ(name_of(imported), "imported");
}

TEST(TurnOver, IsTheSameWhereNothingChanges) {
    Request request = request_of(ring());
    request.rank = 1;
    const Schedule schedule = ring().build(request);
    EXPECT_EQ(print(turn_over(schedule, false)), print(schedule));
    const Schedule in_place = turn_over(schedule, true);
    EXPECT_TRUE(in_place.in_place);
    EXPECT_EQ(in_place.ops.size(), schedule.ops.size() + 1);
    const Algorithm& binomial = *find(Collective::kBcast, "binomial");
    request = request_of(binomial);
    EXPECT_EQ(print(turn_over(binomial.build(request), true)), print(binomial.build(request)));
}

}  // namespace
}  // namespace beeline::coll::plan
