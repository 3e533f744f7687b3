// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on host memory, all of it between the public entry and the transport, against a serial
// reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/world/allreduce_cases.hpp"
#include "tests/world/loopback.hpp"

namespace beeline::world {
namespace {

using coll::Context;
using coll::kernel::Op;
using coll::kernel::Type;

constexpr unsigned char kPoison = 0xA5;

/// A buffer with a poisoned margin on both sides, at a chosen misalignment.
class Guarded {
 public:
    Guarded(std::size_t bytes, std::size_t skew)
        : memory_(bytes + 2 * kMargin + 16 + skew, kPoison), bytes_(bytes) {
        const auto start = reinterpret_cast<std::uintptr_t>(memory_.data()) + kMargin;
        offset_ = kMargin + (16 - start % 16) % 16 + skew;
    }
    unsigned char* data() { return memory_.data() + offset_; }
    bool margins_untouched() const {
        for (std::size_t i = 0; i < memory_.size(); ++i) {
            if ((i < offset_ || i >= offset_ + bytes_) && memory_[i] != kPoison) {
                return false;
            }
        }
        return true;
    }

 private:
    static constexpr std::size_t kMargin = 64;
    std::vector<unsigned char> memory_;
    std::size_t bytes_;
    std::size_t offset_ = 0;
};

/// Runs one case as one rank; returns what was wrong, or an empty text.
std::string run_case(const Case& what, const std::vector<unsigned char>& result, Context& context,
                     coll::exec::Transport& transport) {
    const std::vector<unsigned char> mine = contribution(what, transport.rank());
    Guarded output(what.bytes(), what.skew);
    if (what.in_place) {
        std::copy(mine.begin(), mine.end(), output.data());
    }
    const Status status = allreduce(context, what.in_place ? nullptr : mine.data(), output.data(),
                                    what.count, what.type, what.op, transport);
    if (status != Status::kOk) {
        return to_string(status);
    }
    if (!std::equal(result.begin(), result.end(), output.data())) {
        return "wrong result";
    }
    if (!output.margins_untouched()) {
        return "wrote outside the buffer";
    }
    return mine == contribution(what, transport.rank()) ? "" : "changed the input";
}

/// Runs all cases one after the other on every rank, as a program would.
void run_cases(int size, const std::vector<Case>& cases, std::uint64_t seed) {
    std::vector<std::vector<unsigned char>> results;
    for (const Case& what : cases) {
        results.push_back(expected(what, size));
    }
    Loopback world(size, {seed});
    std::vector<std::string> problems(static_cast<std::size_t>(size));
    world.run([&](int rank) {
        Context context;
        for (std::size_t index = 0; index < cases.size(); ++index) {
            const std::string problem =
                run_case(cases[index], results[index], context, world.transport(rank));
            std::string& first = problems[static_cast<std::size_t>(rank)];
            if (!problem.empty() && first.empty()) {
                first = cases[index].name(rank, size) + ": " + problem;
            }
        }
    });
    for (const std::string& problem : problems) {
        EXPECT_EQ(problem, "");
    }
    EXPECT_EQ(world.unmatched(), 0U);
}

class Allreduce : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Allreduce, EveryTypeAndOperation) {
    const auto [algorithm, size] = GetParam();
    const Forced forced(algorithm);
    const auto p = static_cast<std::size_t>(size);
    run_cases(size, all_cases({0, 1, p - 1, p, p + 1, 1000}), p);
}

TEST_P(Allreduce, LongVectors) {
    const auto [algorithm, size] = GetParam();
    const Forced forced(algorithm);
    std::vector<Case> cases;
    for (const bool in_place : {false, true}) {
        cases.push_back({65537, Type::kF64, Op::kSum, in_place, 0});
        cases.push_back({65537, Type::kI8, Op::kMax, in_place, 1});
        cases.push_back({65537, Type::kI32, Op::kLxor, in_place, 4});
    }
    run_cases(size, cases, 99);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Allreduce,
                         testing::Combine(testing::Values("ring", "recursive_doubling"),
                                          testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16)));

TEST(AllreduceWorld, ManyWeathersGiveOneResult) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        run_cases(6, {{100, Type::kF32, Op::kSum, seed % 2 == 0, 0}}, seed);
    }
}

TEST(AllreduceWorld, SlicesOverlapAndAddUp) {
    // Chunks of 2.2 million floats travel as three messages each.
    const Forced forced("ring");
    run_cases(2, {{4400000, Type::kF32, Op::kSum, true, 0}}, 3);
}

TEST(AllreduceWorld, ARepeatedCallReusesItsSchedule) {
    const Forced forced("ring");
    Loopback world(4);
    world.run([&](int rank) {
        Context context;
        std::vector<float> data(1000, 1);
        for (int repeat = 0; repeat < 5; ++repeat) {
            EXPECT_EQ(allreduce(context, nullptr, data.data(), data.size(), Type::kF32, Op::kMax,
                                world.transport(rank)),
                      Status::kOk);
        }
        EXPECT_EQ(context.counters().built, 1U);
        EXPECT_EQ(context.counters().on_host, 5U);
        EXPECT_EQ(context.counters().on_device, 0U);
    });
    EXPECT_EQ(world.messages(), 5U * 4U * 6U);
}

// A message lost to the network must leave nobody waiting: the two ranks it was between learn of
// it, and the next call works.
TEST(AllreduceWorld, AFailedMessageHangsNobody) {
    const std::pair<const char*, std::uint64_t> kinds[] = {{"ring", 24}, {"recursive_doubling", 8}};
    for (const auto& [algorithm, messages] : kinds) {
        const Forced forced(algorithm);
        for (std::uint64_t failing = 1; failing <= messages; ++failing) {
            Loopback world(4, {7, failing});
            std::atomic<int> failures{0};
            std::vector<Context> contexts(4);
            std::vector<std::int64_t> results(4);
            const auto call = [&](int rank) {
                std::vector<std::int64_t> data(64, rank);
                const Status status =
                    allreduce(contexts[static_cast<std::size_t>(rank)], nullptr, data.data(),
                              data.size(), Type::kI64, Op::kSum, world.transport(rank));
                // Those that depend on the two that failed get messages that are too short.
                EXPECT_TRUE(status == Status::kOk || status == Status::kIo ||
                            status == Status::kTruncated);
                failures += status == Status::kIo ? 1 : 0;
                results[static_cast<std::size_t>(rank)] = data[0];
            };
            world.run(call);
            world.run(call);
            EXPECT_EQ(results, std::vector<std::int64_t>(4, 0 + 1 + 2 + 3));
            EXPECT_EQ(failures, 2);
            EXPECT_EQ(world.unmatched(), 0U);
            EXPECT_EQ(world.messages(), 2 * messages);
        }
    }
}

}  // namespace
}  // namespace beeline::world
