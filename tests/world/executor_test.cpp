// SPDX-License-Identifier: BSD-3-Clause
// The executor with an engine that is as late as it may be, or fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "coll/exec/host_driven.hpp"
#include "coll/exec/host_engine.hpp"
#include "coll/plan/algorithm.hpp"
#include "coll/plan/transform.hpp"
#include "tests/world/loopback.hpp"

namespace beeline::world {
namespace {

using coll::exec::HostDriven;
using coll::kernel::Op;
using coll::kernel::Type;

/// Does nothing before flush(), so that a result used too early shows.
class LateEngine final : public coll::exec::ReduceEngine {
 public:
    Result<void*> scratch(std::size_t bytes) noexcept override {
        return refuse_scratch ? Result<void*>(Status::kNoMemory) : engine_.scratch(bytes);
    }
    Status copy(void* target, const void* source, std::size_t bytes) noexcept override {
        queue_.push_back([=, this] { engine_.copy(target, source, bytes); });
        return Status::kOk;
    }
    Status reduce(Type type, Op op, const void* left, const void* right, void* out,
                  std::size_t count) noexcept override {
        if (++reductions == failing_reduction) {
            return Status::kDriver;
        }
        queue_.push_back([=, this] { engine_.reduce(type, op, left, right, out, count); });
        return Status::kOk;
    }
    Status reduce_many(Type type, Op op, std::span<const void* const> inputs, void* out,
                       std::size_t count) noexcept override {
        if (++reductions == failing_reduction) {
            return Status::kDriver;
        }
        most_inputs = std::max(most_inputs, inputs.size());
        std::vector<const void*> kept(inputs.begin(), inputs.end());
        queue_.push_back([=, this] { engine_.reduce_many(type, op, kept, out, count); });
        return Status::kOk;
    }
    Status flush() noexcept override {
        ++flushes;
        for (const auto& task : queue_) {
            task();
        }
        queue_.clear();
        return Status::kOk;
    }

    Status poll() noexcept override { return ++polls % 2 == 0 ? flush() : Status::kRetry; }

    bool refuse_scratch = false;
    int failing_reduction = 0;
    int reductions = 0;
    std::size_t most_inputs = 0;
    int flushes = 0;
    int polls = 0;

 private:
    coll::exec::HostEngine engine_;
    std::vector<std::function<void()>> queue_;
};

coll::plan::Schedule build(bool ring, int size, int rank, bool in_place, int slices = 1) {
    coll::plan::Request request;
    request.size = size;
    request.rank = rank;
    request.in_place = in_place;
    request.slices = slices;
    return coll::plan::find(coll::plan::Collective::kAllreduce,
                            ring ? "ring" : "recursive_doubling")
        ->build(request);
}

coll::exec::Data sum(const int* input, int* output, std::size_t count) {
    return {input, output, {count, {}, {}}, sizeof(int), Type::kI32, Op::kSum};
}

TEST(Executor, ALateEngineGivesTheSameResult) {
    constexpr std::size_t kCount = 83;
    for (const bool ring : {true, false}) {
        for (int size = 1; size <= 9; ++size) {
            Loopback world(size, {static_cast<std::uint64_t>(size)});
            world.run([&](int rank) {
                for (const bool in_place : {true, false}) {
                    const std::vector<int> input(kCount, rank + 1);
                    std::vector<int> output(kCount, in_place ? rank + 1 : -1);
                    LateEngine engine;
                    HostDriven executor;
                    const auto schedule = build(ring, size, rank, in_place, 3);
                    EXPECT_EQ(executor.run(schedule, sum(input.data(), output.data(), kCount),
                                           engine, world.transport(rank)),
                              Status::kOk);
                    EXPECT_EQ(output, std::vector<int>(kCount, size * (size + 1) / 2));
                }
            });
            EXPECT_EQ(world.unmatched(), 0U);
        }
    }
}

// The engine is waited for once a message that carries its result, never once a reduction without
// one.
TEST(Executor, WaitsForTheEngineOnlyBeforeMessages) {
    for (const bool ring : {true, false}) {
        Loopback world(4);
        world.run([&](int rank) {
            std::vector<int> data(4, rank);
            LateEngine engine;
            HostDriven executor;
            EXPECT_EQ(executor.run(build(ring, 4, rank, true), sum(nullptr, data.data(), 4), engine,
                                   world.transport(rank)),
                      Status::kOk);
            EXPECT_EQ(engine.reductions, ring ? 3 : 2);
            EXPECT_EQ(engine.flushes, ring ? 3 : 2);
        });
    }
}

/// Sums whose rounding shows the order of the operands.
std::vector<unsigned char> rounded_sums(int size, int rank, bool in_place, bool joined,
                                        coll::exec::Transport& transport, LateEngine& engine) {
    constexpr std::size_t kCount = 100;
    coll::plan::Request request;
    request.size = size;
    request.rank = rank;
    request.in_place = in_place;
    auto schedule = coll::plan::split(
        coll::plan::find(coll::plan::Collective::kAllreduce, "one_shot")->build(request));
    if (joined) {
        schedule = coll::plan::join(std::move(schedule), coll::kernel::kMostInputs);
    }
    std::vector<double> input(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
        input[i] = 1.0 / static_cast<double>(i * 7 + static_cast<std::size_t>(rank) * 3 + 1);
    }
    std::vector<double> output = input;
    HostDriven executor;
    EXPECT_EQ(
        executor.run(
            schedule,
            {input.data(), output.data(), {kCount, {}, {}}, sizeof(double), Type::kF64, Op::kSum},
            engine, transport),
        Status::kOk);
    EXPECT_EQ(engine.reductions, static_cast<int>(coll::plan::count_reductions(schedule)));
    std::vector<unsigned char> bytes(kCount * sizeof(double));
    std::memcpy(bytes.data(), output.data(), bytes.size());
    return bytes;
}

// In place too, where the own contribution is in the result from the start.
TEST(Executor, JoinedReductionsAreOneAndKeepTheOrder) {
    for (const bool in_place : {true, false}) {
        for (const int size : {2, 3, 5, 8, 16, 17, 20}) {
            Loopback world(size);
            world.run([&](int rank) {
                LateEngine apart;
                LateEngine joined;
                EXPECT_EQ(rounded_sums(size, rank, in_place, false, world.transport(rank), apart),
                          rounded_sums(size, rank, in_place, true, world.transport(rank), joined));
                EXPECT_EQ(apart.reductions, size - 1);
                EXPECT_EQ(joined.reductions, size <= 16 ? 1 : 2) << size;
                EXPECT_EQ(joined.most_inputs, static_cast<std::size_t>(std::min(size, 16)));
            });
            EXPECT_EQ(world.unmatched(), 0U);
        }
    }
}

TEST(Executor, AFailedReductionIsReportedAndHangsNobody) {
    for (int failing = 1; failing <= 3; ++failing) {
        Loopback world(4);
        world.run([&](int rank) {
            std::vector<int> data(4, rank);
            LateEngine engine;
            engine.failing_reduction = rank == 2 ? failing : 0;
            HostDriven executor;
            EXPECT_EQ(executor.run(build(true, 4, rank, true), sum(nullptr, data.data(), 4), engine,
                                   world.transport(rank)),
                      rank == 2 ? Status::kDriver : Status::kTruncated);
            EXPECT_TRUE(rank != 2 || engine.reductions == failing);
        });
        EXPECT_EQ(world.unmatched(), 0U);
    }
}

// Nor what the caller says went wrong before, nor scratch that is refused: nobody waits for ever,
// and all learn of it.
TEST(Executor, AFailureBeforeTheRunReachesAllRanks) {
    for (const bool scratch : {true, false}) {
        for (const bool ring : {true, false}) {
            Loopback world(4);
            world.run([&](int rank) {
                std::vector<int> data(8, rank);
                LateEngine engine;
                HostDriven executor;
                engine.refuse_scratch = scratch && rank == 1;
                const auto schedule = build(ring, 4, rank, true);
                const Status failed = rank == 1 && !scratch ? Status::kNoMemory : Status::kOk;
                ASSERT_EQ(executor.begin(schedule, sum(nullptr, data.data(), 8), engine,
                                         world.transport(rank), failed),
                          Status::kOk);
                EXPECT_TRUE(executor.advance(coll::exec::Patience::kWait));
                EXPECT_EQ(executor.status(), rank == 1 ? Status::kNoMemory : Status::kTruncated);
                EXPECT_TRUE(rank != 1 || data == std::vector<int>(8, rank));
            });
            EXPECT_EQ(world.unmatched(), 0U);
        }
    }
}

TEST(Executor, ChunksMayBeEmpty) {
    Loopback world(4);
    world.run([&](int rank) {
        std::vector<int> data(2, rank);
        LateEngine engine;
        HostDriven executor;
        EXPECT_EQ(executor.run(build(true, 4, rank, true, 2), sum(nullptr, data.data(), 2), engine,
                               world.transport(rank)),
                  Status::kOk);
        EXPECT_EQ(data, std::vector<int>(2, 6));
    });
    EXPECT_EQ(world.unmatched(), 0U);
}

}  // namespace
}  // namespace beeline::world
