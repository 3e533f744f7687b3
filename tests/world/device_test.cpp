// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on device memory, on mixed kinds of memory, and what it costs in driver calls.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "tests/world/allreduce_cases.hpp"
#include "tests/world/device_memory.hpp"
#include "tests/world/loopback.hpp"

namespace beeline::world {
namespace {

using coll::Context;
using coll::kernel::Op;
using coll::kernel::Type;
using memory::Kind;

constexpr Kind kKinds[] = {Kind::kDevice, Kind::kHost, Kind::kManaged, Kind::kPinned};

const cuda::Driver* driver() {
    static const cuda::Driver* const loaded = load_driver();
    return loaded;
}

/// Where a rank's buffers of one case are.
struct Kinds {
    Kind send = Kind::kDevice;
    Kind receive = Kind::kDevice;
};

std::string run_case(const Case& what, const Kinds& kinds, Context& context,
                     coll::exec::Transport& transport) {
    const std::vector<unsigned char> mine = contribution(what, transport.rank());
    Buffer input(*driver(), kinds.send, what.bytes(), what.skew);
    Buffer output(*driver(), kinds.receive, what.bytes(), what.skew);
    (what.in_place ? output : input).write(mine);
    const Status status = allreduce(context, what.in_place ? nullptr : input.data(), output.data(),
                                    what.count, what.type, what.op, transport);
    if (status != Status::kOk) {
        return to_string(status);
    }
    if (output.read() != expected(what, transport.size())) {
        return "wrong result";
    }
    if (!output.margins_untouched() || !input.margins_untouched()) {
        return "wrote outside a buffer";
    }
    return what.in_place || input.read() == mine ? "" : "changed the input";
}

/// Runs all cases on every rank; `kinds_of(rank, index of the case)` says on which memory.
template <class KindsOf>
void run_cases(int size, const std::vector<Case>& cases, KindsOf kinds_of) {
    ASSERT_NE(driver(), nullptr);
    Loopback world(size, {static_cast<std::uint64_t>(size)});
    std::vector<std::string> problems(static_cast<std::size_t>(size));
    world.run([&](int rank) {
        use_device(*driver(), rank);
        Context context;
        for (std::size_t index = 0; index < cases.size(); ++index) {
            const std::string problem =
                run_case(cases[index], kinds_of(rank, index), context, world.transport(rank));
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

class DeviceAllreduce : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(DeviceAllreduce, EveryTypeAndOperation) {
    const auto [algorithm, size] = GetParam();
    const Forced forced(algorithm);
    run_cases(size, all_cases({1, 37}), [](int, std::size_t) { return Kinds{}; });
}

TEST_P(DeviceAllreduce, EveryAlignment) {
    const auto [algorithm, size] = GetParam();
    const Forced forced(algorithm);
    std::vector<Case> cases;
    for (const std::size_t skew : {1U, 2U, 4U, 8U, 12U}) {
        for (const bool in_place : {true, false}) {
            cases.push_back({1001, Type::kF64, Op::kSum, in_place, skew});
            cases.push_back({1001, Type::kI32, Op::kMax, in_place, skew});
            cases.push_back({1001, Type::kU8, Op::kBxor, in_place, skew});
        }
    }
    run_cases(size, cases, [](int, std::size_t) { return Kinds{}; });
}

TEST_P(DeviceAllreduce, AnyKindOfMemoryOnAnyRank) {
    const auto [algorithm, size] = GetParam();
    const Forced forced(algorithm);
    std::vector<Case> cases;
    for (int repeat = 0; repeat < 16; ++repeat) {
        cases.push_back({997, Type::kF32, Op::kSum, repeat % 3 == 0, 0});
    }
    run_cases(size, cases, [](int rank, std::size_t index) {
        const std::size_t mixed = index + static_cast<std::size_t>(rank);
        return Kinds{kKinds[mixed % 4], kKinds[mixed / 4 % 4]};
    });
}

INSTANTIATE_TEST_SUITE_P(Sizes, DeviceAllreduce,
                         testing::Combine(testing::Values("ring", "recursive_doubling"),
                                          testing::Values(1, 2, 3, 4, 5)));

TEST(DeviceAllreduce, LongVectors) {
    for (const char* algorithm : {"ring", "recursive_doubling"}) {
        const Forced forced(algorithm);
        run_cases(
            4, {{300001, Type::kF64, Op::kSum, true, 0}, {300001, Type::kF32, Op::kProd, false, 4}},
            [](int, std::size_t) { return Kinds{}; });
    }
}

// Streams, kernels and scratch of before the reset are dead, and their addresses may belong to
// others now.
TEST(DeviceAllreduce, SurvivesADeviceReset) {
    ASSERT_NE(driver(), nullptr);
    const Case what{5000, Type::kI64, Op::kSum, true, 0};
    for (const char* algorithm : {"ring", "recursive_doubling"}) {
        const Forced forced(algorithm);
        Loopback world(2);
        world.run([&](int rank) {
            use_device(*driver(), rank);
            Context context;
            for (int repeat = 0; repeat < 3; ++repeat) {
                const Kind kind = rank == 0 ? Kind::kDevice : Kind::kHost;
                EXPECT_EQ(run_case(what, {kind, kind}, context, world.transport(rank)), "");
                if (rank == 0) {
                    reset_device(*driver(), rank);
                    use_device(*driver(), rank);
                }
            }
        });
    }
}

using Calls = unsigned long long (*)(const char*);

/// Driver calls of a repeated allreduce by one rank, its peers being on the host.
class Ledger : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_NE(driver(), nullptr);
        calls_ = reinterpret_cast<Calls>(software_entry("softcuda_calls"));
        if (calls_ == nullptr) {
            GTEST_SKIP() << "a real driver does not count its calls";
        }
    }

    unsigned long long calls(const char* name) { return calls_(name); }

    Calls calls_ = nullptr;
};

TEST_F(Ledger, OneLaunchForEachReductionAndNothingMadeAnew) {
    constexpr const char* kMakers[] = {"cuMemAlloc",     "cuMemFree",           "cuModuleLoadData",
                                       "cuStreamCreate", "cuModuleGetFunction", "cuEventCreate"};
    for (const char* algorithm : {"ring", "recursive_doubling"}) {
        for (const bool in_place : {true, false}) {
            const Forced forced(algorithm);
            constexpr int kSize = 3;
            constexpr std::size_t kCount = 3000;
            Loopback world(kSize);
            const Case what{kCount, Type::kF32, Op::kSum, in_place, 0};
            world.run([&](int rank) {
                use_device(*driver(), rank);
                Context context;
                const Kind kind = rank == 1 ? Kind::kDevice : Kind::kHost;
                Buffer input(*driver(), kind, what.bytes(), 0);
                Buffer output(*driver(), kind, what.bytes(), 0);
                const auto call = [&] {
                    output.write(contribution(what, rank));
                    input.write(contribution(what, rank));
                    EXPECT_EQ(allreduce(context, in_place ? nullptr : input.data(), output.data(),
                                        kCount, what.type, what.op, world.transport(rank)),
                              Status::kOk);
                };
                call();
                std::vector<unsigned long long> before;
                for (const char* maker : kMakers) {
                    before.push_back(rank == 1 ? calls(maker) : 0);
                }
                const unsigned long long launches = rank == 1 ? calls("cuLaunchKernel") : 0;
                for (int repeat = 0; repeat < 10; ++repeat) {
                    call();
                }
                if (rank != 1) {
                    return;
                }
                // Ring: one reduction for each of 2 chunks. Recursive doubling of 3: rank 1 takes
                // in rank 0, then exchanges with rank 2.
                EXPECT_EQ(calls("cuLaunchKernel") - launches, 10U * 2U);
                for (std::size_t index = 0; index < before.size(); ++index) {
                    EXPECT_EQ(calls(kMakers[index]), before[index]) << kMakers[index];
                }
                EXPECT_EQ(context.counters().on_device, 11U);
            });
        }
    }
}

// The contributions of all ranks are combined by one kernel.
TEST_F(Ledger, OneShotIsOneLaunch) {
    const Forced forced("one_shot");
    for (const int size : {2, 3, 5, 8}) {
        Loopback world(size);
        const Case what{1000, Type::kF32, Op::kSum, false, 0};
        world.run([&](int rank) {
            use_device(*driver(), rank);
            Context context;
            const Kinds kinds{rank == 1 ? Kind::kDevice : Kind::kHost,
                              rank == 1 ? Kind::kDevice : Kind::kHost};
            const unsigned long long launches = rank == 1 ? calls("cuLaunchKernel") : 0;
            for (int repeat = 0; repeat < 3; ++repeat) {
                EXPECT_EQ(run_case(what, kinds, context, world.transport(rank)), "");
            }
            if (rank == 1) {
                EXPECT_EQ(calls("cuLaunchKernel") - launches, 3U) << size;
            }
        });
    }
}

// Run by itself too, with kernels or device memory refused (fallbacks.sh): the result is the same.
TEST_F(Ledger, RefusedMeansLeadToTheSameResult) {
    const Forced forced("ring");
    const Case what{1000, Type::kF64, Op::kSum, true, 0};
    Loopback world(2);
    world.run([&](int rank) {
        use_device(*driver(), rank);
        Context context;
        Buffer output(*driver(), rank == 0 ? Kind::kDevice : Kind::kHost, what.bytes(), 0);
        for (int repeat = 0; repeat < 2; ++repeat) {
            output.write(contribution(what, rank));
            EXPECT_EQ(allreduce(context, nullptr, output.data(), what.count, what.type, what.op,
                                world.transport(rank)),
                      Status::kOk);
            EXPECT_EQ(output.read(), expected(what, 2));
        }
    });
    if (std::getenv("BEELINE_TEST_REFUSED") != nullptr) {
        EXPECT_EQ(calls("cuLaunchKernel"), 0U) << "nothing was refused";
    }
}

}  // namespace
}  // namespace beeline::world
