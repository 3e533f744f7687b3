// SPDX-License-Identifier: BSD-3-Clause
// Loops: found in every algorithm's lists, unrolled to the same lists, written and read.
#include <gtest/gtest.h>

#include "coll/plan/json.hpp"
#include "coll/plan/loops.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::plan {
namespace {

Schedule built(Collective collective, const char* name, int size, int rank) {
    Request request;
    request.collective = collective;
    request.size = size;
    request.rank = rank;
    return find(collective, name)->build(request);
}

/// The list with each loop made of its first turn.
Schedule unrolled(const Schedule& schedule, std::span<const Loop> loops) {
    Schedule result = schedule;
    result.ops.clear();
    result.dependencies.clear();
    std::uint32_t number = 0;
    const auto copy_to = [&](std::uint32_t end) {
        for (; number < end; ++number) {
            append(result, schedule.ops[number], schedule.after(schedule.ops[number]));
        }
    };
    std::vector<std::int32_t> after;
    for (const Loop& loop : loops) {
        copy_to(loop.first);
        for (std::uint32_t turn = 0; turn < loop.turns; ++turn) {
            for (std::size_t index = 0; index < loop.strides.size(); ++index) {
                const Op& op = schedule.ops[loop.first + index];
                const Op now =
                    in_turn(schedule, op, schedule.after(op), loop.strides[index], turn, after);
                append(result, now, after);
            }
        }
        number = loop.end();
    }
    copy_to(static_cast<std::uint32_t>(schedule.ops.size()));
    return result;
}

class EachAlgorithm : public testing::TestWithParam<const Algorithm*> {};

TEST_P(EachAlgorithm, LoopsUnrollToTheList) {
    for (const int size : {1, 2, 5, 8, 17}) {
        for (const int slices : {1, 3}) {
            const std::vector<int> nodes(static_cast<std::size_t>(size), 0);
            const Request request = request_on(*GetParam(), nodes, slices);
            if (refuses(*GetParam(), request) != nullptr) {
                continue;
            }
            for (const Schedule& schedule : build_world(*GetParam(), request)) {
                const std::vector<Loop> loops = find_loops(schedule);
                std::uint32_t end = 0;
                for (const Loop& loop : loops) {
                    EXPECT_GE(loop.first, end);
                    EXPECT_GE(loop.turns, 3U);
                    EXPECT_FALSE(loop.strides.empty());
                    end = loop.end();
                }
                EXPECT_LE(end, schedule.ops.size());
                EXPECT_EQ(print(unrolled(schedule, loops)), print(schedule));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EachAlgorithm,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& instance) { return name_of(instance); });

// What is said of a ring does not grow with its ranks.
TEST(Loops, ARingIsTwoOfThem) {
    const auto lines = [](int size) {
        const std::string text = print_loops(built(Collective::kAllreduce, "ring", size, 0));
        return std::count(text.begin(), text.end(), '\n');
    };
    EXPECT_EQ(find_loops(built(Collective::kAllreduce, "ring", 64, 3)).size(), 2U);
    EXPECT_EQ(lines(64), lines(128));
    EXPECT_LT(lines(64), 25);
    EXPECT_EQ(print_loops(built(Collective::kAllreduce, "ring", 2, 0)),
              print(built(Collective::kAllreduce, "ring", 2, 0)));
}

TEST(Loops, ArePrintedAsTurns) {
    EXPECT_EQ(print_loops(built(Collective::kAllgather, "ring", 8, 1)),
              "allgather ring rank 1 of 8: 8 chunks equal, 0 mirrors, 0 slots, 15 ops\n"
              "   0 receive output[0] from 0 on 0\n"
              "   1 receive output[7] from 0 on 0\n"
              "   2 send input[0] to 2 on 0\n"
              "   3 receive output[6] from 0 on 0\n"
              "   4 send output[0] to 2 on 0 after 0\n"
              "   5..12 in turns k = 0..3:\n"
              "     5 receive output[5 - k] from 0 on 0\n"
              "     6 send output[7 - k] to 2 on 0 after 1 + 2k\n"
              "  13 send output[3] to 2 on 0 after 9\n"
              "  14 copy output[1] = input[0]\n");
}

/// An allgather on a ring by hand: each turn passes on the block that came the turn before.
std::string by_hand(const std::string& turns, const std::string& step) {
    std::string text =
        R"({"format": "beeline-schedule", "version": 1, "collective": "allgather",
            "algorithm": "by hand", "ranks": 4, "root": 0, "ordered": false, "cut": "equal",
            "slices": 1, "schedules": [)";
    for (int rank = 0; rank < 4; ++rank) {
        const auto number = [](int value) { return std::to_string((value + 4) % 4); };
        const std::string previous = number(rank - 1);
        const std::string message = R"("count": 1, "channel": 0, "peer": )";
        text += (rank > 0 ? "," : "") + std::string(R"({"rank": )") + std::to_string(rank) +
                R"(, "in_place": true, "input_blocks": 0, "output_blocks": 4, "frame_blocks": 4,
                     "mirrors": 0, "slots": 0, "phases": [], "ops": [
                  {"op": "receive", )" +
                message + previous + R"(, "target": ["output", )" + previous + R"(]},
                  {"op": "send", )" +
                message + number(rank + 1) + R"(, "source": ["output", )" + std::to_string(rank) +
                R"(]},
                  {"op": "repeat", "turns": )" +
                turns + R"(, "ops": [
                    {"op": "receive", )" +
                message + previous + R"(, "target": ["output", )" + number(rank - 2) +
                R"(], "step": {"target": -1}},
                    {"op": "send", )" +
                message + number(rank + 1) + R"(, "source": ["output", )" + previous +
                R"(], "after": [0], "step": )" + step + "}]}]}";
    }
    return text + "]}";
}

TEST(Loops, OfADocumentAreUnrolled) {
    const Imported imported = from_json(by_hand("2", R"({"source": -1})"));
    ASSERT_EQ(imported.problem, "");
    EXPECT_EQ(print(imported.world[1]),
              "allgather by hand rank 1 of 4 in place: 4 chunks equal, 0 mirrors, 0 slots, 6 ops\n"
              "   0 receive output[0] from 0 on 0\n"
              "   1 send output[1] to 2 on 0\n"
              "   2 receive output[3] from 0 on 0\n"
              "   3 send output[0] to 2 on 0 after 0\n"
              "   4 receive output[2] from 0 on 0\n"
              "   5 send output[3] to 2 on 0 after 2\n");
}

TEST(Loops, ThatAreWrongAreRefused) {
    const char* step = R"({"source": -1})";
    for (const char* turns : {"0", "1", "3", "-1", "0.5", "4194304", "4294967296", "\"2\""}) {
        EXPECT_FALSE(from_json(by_hand(turns, step)).ok()) << turns;
    }
    for (const char* wrong :
         {"{}", "7", R"({"source": 1})", R"({"source": 4294967296})", R"({"source": "x"})",
          R"({"source": -1, "peer": 1})", R"({"source": -1, "after": []})",
          R"({"source": -1, "after": [-1]})", R"({"source": -1, "after": [1073741824]})"}) {
        EXPECT_FALSE(from_json(by_hand("2", wrong)).ok()) << wrong;
    }
    EXPECT_TRUE(from_json(by_hand("2", R"({"source": -1, "after": [2]})")).ok());
}

// A short text may not become a list without end.
TEST(Loops, AreBounded) {
    EXPECT_EQ(from_json(by_hand("4194304", R"({"source": -1})")).problem, "there are too many ops");
}

}  // namespace
}  // namespace beeline::coll::plan
