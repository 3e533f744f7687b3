// SPDX-License-Identifier: BSD-3-Clause
// What algorithms say about their costs is what their schedules do.
#include <gtest/gtest.h>

#include <algorithm>

#include "coll/plan/layout.hpp"
#include "coll/plan/timeline.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::plan {
namespace {

struct Sums {
    double sent = 0;     ///< bytes of the busiest sender
    double taken = 0;    ///< bytes of the busiest receiver
    double reduced = 0;  ///< of the busiest rank
};

Sums sums_of(const std::vector<Schedule>& world, std::size_t bytes) {
    Sums most;
    for (const Schedule& schedule : world) {
        const Layout layout(schedule, {bytes, {}, {}});
        Sums here;
        for (const Op& op : schedule.ops) {
            const Place& place = op.kind == OpKind::kSend ? op.source : op.target;
            const auto length = static_cast<double>(layout.locate(place, op.count).count);
            here.sent += op.kind == OpKind::kSend ? length : 0;
            here.taken += op.kind == OpKind::kReceive ? length : 0;
            here.reduced += op.kind == OpKind::kReduce ? length : 0;
        }
        most.sent = std::max(most.sent, here.sent);
        most.taken = std::max(most.taken, here.taken);
        most.reduced = std::max(most.reduced, here.reduced);
    }
    return most;
}

class Costs : public testing::TestWithParam<const Algorithm*> {};

// A cost is for the critical path: no less than what the busiest rank sends or takes.
TEST_P(Costs, CoverWhatIsDone) {
    const Algorithm& algorithm = *GetParam();
    for (int size = 2; size <= 33; ++size) {
        std::vector<int> nodes;
        for (int rank = 0; rank < size; ++rank) {
            nodes.push_back(rank / 4);
        }
        Request request = request_on(algorithm, nodes, algorithm.pipelines ? 1 + size % 4 : 1);
        request.root = size / 3;
        if (refuses(algorithm, request) != nullptr) {
            continue;
        }
        const std::vector<Schedule> world = build_world(algorithm, request);
        const std::size_t bytes = 4096 * static_cast<std::size_t>(size) * 60;
        const Cost cost = algorithm.cost(request, static_cast<double>(bytes));
        const Sums sums = sums_of(world, bytes);
        const double slack = 1.001;
        EXPECT_LE(sums.sent, (cost.bytes + cost.across_bytes) * slack + 1) << size;
        EXPECT_LE(sums.taken, (cost.bytes + cost.across_bytes) * slack + 1) << size;
        EXPECT_LE(sums.reduced, cost.reduced * slack + 1) << size;
        EXPECT_LE(validate(world).depth, cost.steps + cost.across_steps) << size;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Costs, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& instance) { return name_of(instance); });

Cost cost_of(Collective collective, const char* name, int size, double bytes, int slices = 1) {
    Request request;
    request.collective = collective;
    request.size = size;
    request.slices = slices;
    return find(collective, name)->cost(request, bytes);
}

TEST(CostsOfPapers, AreAsPublished) {
    const Cost ring = cost_of(Collective::kAllreduce, "ring", 8, 800);
    EXPECT_EQ(ring.steps, 14);
    EXPECT_EQ(ring.bytes, 1400);
    EXPECT_EQ(ring.reduced, 700);
    const Cost doubling = cost_of(Collective::kAllreduce, "recursive_doubling", 6, 100);
    EXPECT_EQ(doubling.steps, 4);
    EXPECT_EQ(doubling.bytes, 400);
    EXPECT_EQ(cost_of(Collective::kAllreduce, "rabenseifner", 24, 100).steps, 10);
    EXPECT_EQ(cost_of(Collective::kAllreduce, "bruck", 24, 2400).bytes, 4600);
    EXPECT_EQ(cost_of(Collective::kBcast, "chain", 10, 100, 4).steps, 12);
    EXPECT_EQ(cost_of(Collective::kBarrier, "dissemination", 9, 0).steps, 4);
}

// Pipelines flow: on the simple machine nothing takes much longer than its costs say.
TEST_P(Costs, AreNearWhatASimpleMachineTakes) {
    const Algorithm& algorithm = *GetParam();
    const Rates rates{2e-6, 10e9, 20e9, 1e15, 0};
    for (const int size : {2, 5, 8, 16, 31}) {
        std::vector<int> nodes;
        for (int rank = 0; rank < size; ++rank) {
            nodes.push_back(rank / 4);
        }
        const Request request = request_on(algorithm, nodes, algorithm.pipelines ? 32 : 1);
        if (refuses(algorithm, request) != nullptr || on_neighbors(algorithm.collective)) {
            continue;
        }
        const std::size_t bytes = 16 << 20;
        const Cost cost = algorithm.cost(request, static_cast<double>(bytes));
        const double predicted = (cost.steps + cost.across_steps) * rates.latency +
                                 (cost.bytes + cost.across_bytes) / rates.bandwidth +
                                 cost.reduced / rates.reduction;
        const double taken = simulate(build_world(algorithm, request), bytes, rates).end;
        EXPECT_LE(taken, predicted * 1.35) << size;
        EXPECT_GE(taken, predicted * 0.35) << size;
    }
}

TEST(Timeline, ARankAloneSendsForAsLongAsItTakes) {
    Request request;
    request.collective = Collective::kBcast;
    request.size = 2;
    const Rates rates{1e-6, 1e9, 1e9, 1e9, 1e-6};
    const Timeline timeline =
        simulate(build_world(*find(Collective::kBcast, "binomial"), request), 1000, rates);
    EXPECT_DOUBLE_EQ(timeline.end, 2e-6);
    EXPECT_DOUBLE_EQ(timeline.ops[1][0].end, 2e-6);
}

TEST(Timeline, SlicesOfAChainOverlap) {
    Request request;
    request.collective = Collective::kBcast;
    request.size = 8;
    const Algorithm& chain = *find(Collective::kBcast, "chain");
    const Rates rates{0, 1e9, 1e9, 1e9, 0};
    const double whole = simulate(build_world(chain, request), 1'000'000, rates).end;
    request.slices = 8;
    const double sliced = simulate(build_world(chain, request), 1'000'000, rates).end;
    EXPECT_NEAR(whole, 7e-3, 1e-9);
    EXPECT_NEAR(sliced, 14e-3 / 8, 1e-9);
}

}  // namespace
}  // namespace beeline::coll::plan
