// SPDX-License-Identifier: BSD-3-Clause
// Schedules as documents and pictures: what goes out comes in again, and what is wrong stays out.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "coll/plan/draw.hpp"
#include "coll/plan/json.hpp"
#include "coll/plan/transform.hpp"
#include "tests/model/coll/builders.hpp"
#include "tests/support/uniform.hpp"

namespace beeline::coll::plan {
namespace {

std::vector<Schedule> some_world(const char* name = "ring") {
    Request request;
    request.size = 4;
    request.in_place = true;
    request.slices = 2;
    return build_world(*find(Collective::kAllreduce, name), request);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

class Documents : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Documents, ComeBackAsTheyWere) {
    const std::vector<int> nodes = {0, 0, 1, 1};
    Request request = request_on(*GetParam(), nodes, 2);
    request.root = 2;
    const std::vector<Neighbors> neighbors(on_neighbors(request.collective) ? 4 : 0);
    ASSERT_EQ(refuses(*GetParam(), request), nullptr);
    const std::vector<Schedule> world = build_world(*GetParam(), request);
    const Imported imported = from_json(to_json(world, neighbors));
    ASSERT_EQ(imported.problem, "");
    ASSERT_EQ(imported.world.size(), world.size());
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        EXPECT_EQ(print(imported.world[rank]), print(world[rank]));
    }
}

INSTANTIATE_TEST_SUITE_P(All, Documents,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& instance) { return name_of(instance); });

TEST(Hostile, WhatIsNoScheduleIsRefused) {
    for (const char* text : {"", "{", "[]", "null", "{}", "{\"format\": \"beeline-schedule\"}",
                             "\"\\", "[[[[[[[[[[", "{\"format\": 7, \"version\": 1}"}) {
        const Imported imported = from_json(text);
        EXPECT_FALSE(imported.ok()) << text;
        EXPECT_TRUE(imported.world.empty());
    }
    EXPECT_FALSE(from_json(std::string(1 << 20, '[')).ok());
}

TEST(Hostile, WrongFieldsAreRefused) {
    const std::string good = to_json(some_world());
    ASSERT_TRUE(from_json(good).ok());
    const std::pair<const char*, const char*> changes[] = {
        {"\"version\": 1", "\"version\": 2"},
        {"\"ranks\": 4", "\"ranks\": 5"},
        {"\"ranks\": 4", "\"ranks\": 4000000000"},
        {"\"slices\": 2", "\"slices\": 0"},
        {"\"slices\": 2", "\"slices\": 4294967295"},
        {"\"slots\": 4", "\"slots\": 4294967295"},
        {"\"slots\": 4", "\"slots\": -1"},
        {"\"slots\": 4", "\"slots\": 3"},
        {"\"mirrors\": 0", "\"mirrors\": 16777216"},
        {"\"mirrors\": 0", "\"mirrors\": 0.5"},
        {"\"in_place\": true", "\"in_place\": false"},
        {"\"in_place\": true", "\"in_place\": 1"},
        {"\"input_blocks\": 0", "\"input_blocks\": 1"},
        {"\"cut\": \"even\"", "\"cut\": \"odd\""},
        {"\"collective\": \"allreduce\"", "\"collective\": \"scan\""},
        {"\"op\": \"send\"", "\"op\": \"receive\""},
        {"\"op\": \"send\"", "\"op\": \"write\""},
        {"\"peer\": 1", "\"peer\": 0"},
        {"\"peer\": 1", "\"peer\": 1073741824"},
        {"\"output\"", "\"input\""},
        {"\"count\": 1", "\"count\": 1073741824"},
        {"\"ordered\": false", "\"ordered\": true"},
    };
    for (const auto& [what, by] : changes) {
        const Imported imported = from_json(replaced(good, what, by));
        EXPECT_FALSE(imported.ok()) << what << " -> " << by;
        EXPECT_TRUE(imported.world.empty());
    }
}

TEST(Hostile, RandomChangesNeverDoMoreThanBeRefused) {
    const std::string good = to_json(some_world());
    const bool holds = rc::check("a changed document is refused or proved", [&] {
        std::string text = good;
        const int changes = *test::uniform(1, 4);
        for (int i = 0; i < changes; ++i) {
            const auto at = *test::uniform<std::size_t>(0, text.size());
            text[at] = static_cast<char>(*test::uniform(32, 127));
        }
        const Imported imported = from_json(text);
        RC_ASSERT(imported.ok() == !imported.world.empty());
        if (imported.ok()) {
            RC_ASSERT(validate(imported.world).ok());
        }
    });
    EXPECT_TRUE(holds);
}

TEST(Split, FusedOpsAreProvedBeforeAndAfter) {
    // Rank 0 sums up what the others give; both orders of operands.
    std::vector<Schedule> world;
    for (int rank = 0; rank < 3; ++rank) {
        Request request;
        request.collective = Collective::kReduce;
        request.size = 3;
        request.rank = rank;
        request.root = 1;
        Schedule schedule = find(Collective::kReduce, "linear")->build(request);
        schedule.mirrors = 0;
        if (rank == 1) {
            schedule.ops.clear();
            schedule.dependencies.clear();
            Op op;
            op.kind = OpKind::kReceiveReduce;
            op.peer = 0;
            op.second = {Buffer::kInput, 0, 0};
            const std::int32_t first = append(schedule, op, {});
            op.peer = 2;
            op.second = op.target;
            op.second_first = true;
            append(schedule, op, {&first, 1});
        }
        world.push_back(schedule);
    }
    ASSERT_EQ(validate(world).problem, "");
    EXPECT_TRUE(from_json(to_json(world)).ok());
    std::vector<Schedule> parts;
    for (const Schedule& schedule : world) {
        parts.push_back(split(schedule));
    }
    EXPECT_EQ(validate(parts).problem, "");
    EXPECT_EQ(parts[1].ops.size(), 4U);
    EXPECT_EQ(parts[1].slots, 2U);
    world[1].ops[1].second_first = false;
    EXPECT_NE(validate(world).problem.find("rank order"), std::string::npos);
}

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++found;
    }
    return found;
}

TEST(Draw, EveryOpAndMessageIsInThePicture) {
    const std::vector<Schedule> world = some_world();
    const std::string svg =
        draw(world, simulate(world, 1 << 20, {2e-6, 10e9, 20e9, 20e9, 0}), "a < b & c");
    EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
    EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
    std::size_t ops = 0;
    for (const Schedule& schedule : world) {
        ops += schedule.ops.size();
    }
    EXPECT_EQ(count_of(svg, "<title>"), ops);
    EXPECT_EQ(count_of(svg, "opacity"), validate(world).messages);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace beeline::coll::plan
