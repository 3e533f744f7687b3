// SPDX-License-Identifier: BSD-3-Clause
// The parameter table: defaults, bounds, suffixes, refusals.
#include "config/config.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/log_capture.hpp"

namespace beeline::config {
namespace {

using test::LogCapture;

const Row& row(const std::string& component, const std::string& name) {
    const auto found = std::ranges::find_if(
        rows(), [&](const Row& each) { return each.component == component && each.name == name; });
    EXPECT_NE(found, rows().end()) << component << "_beeline_" << name;
    return *found;
}

std::string printed(const Params& params, const Row& which) {
    char text[64];
    return print(params, which, text);
}

TEST(Config, DefaultsAreWithinBoundsAndPrintAsTheTableSays) {
    LogCapture capture;
    for (const Row& each : rows()) {
        Params values;
        EXPECT_EQ(printed(values, each), each.initial) << each.name;
        EXPECT_EQ(set(values, each, each.initial), Status::kOk) << each.name;
        EXPECT_EQ(printed(values, each), each.initial) << each.name;
        EXPECT_GT(std::strlen(each.text), 0u) << each.name;
    }
    EXPECT_TRUE(capture.lines().empty());
}

TEST(Config, NamesAreUnique) {
    std::set<std::string> names;
    for (const Row& each : rows()) {
        EXPECT_TRUE(names.insert(std::string(each.component) + "_" + each.name).second)
            << each.name;
    }
}

TEST(Config, NumbersTakeTheirBoundsAndNothingBeyond) {
    LogCapture capture;
    int refusals = 0;
    for (const Row& each : rows()) {
        if (each.kind != Kind::kInt && each.kind != Kind::kSize) {
            continue;
        }
        Params values;
        EXPECT_EQ(set(values, each, std::to_string(each.minimum)), Status::kOk) << each.name;
        EXPECT_EQ(printed(values, each), std::to_string(each.minimum));
        EXPECT_EQ(set(values, each, std::to_string(each.maximum)), Status::kOk) << each.name;
        EXPECT_EQ(set(values, each, std::to_string(each.maximum + 1)), Status::kInvalid);
        ++refusals;
        if (each.minimum > 0) {
            EXPECT_EQ(set(values, each, std::to_string(each.minimum - 1)), Status::kInvalid);
            ++refusals;
        }
        EXPECT_EQ(printed(values, each), std::to_string(each.maximum))
            << "a refusal stored a value";
    }
    EXPECT_GT(refusals, 0);
    EXPECT_EQ(capture.lines().size(), static_cast<std::size_t>(refusals));
}

TEST(Config, SizesTakeSuffixesOf1024) {
    Params values;
    const Row& eager = row("pml", "eager_limit");
    EXPECT_EQ(set(values, eager, "4k"), Status::kOk);
    EXPECT_EQ(values.pml_eager_limit, 4096u);
    EXPECT_EQ(set(values, eager, "64K"), Status::kOk);
    EXPECT_EQ(values.pml_eager_limit, 65536u);
    EXPECT_EQ(set(values, row("pml", "staging_chunk"), "2M"), Status::kOk);
    EXPECT_EQ(values.pml_staging_chunk, 2u << 20);
    EXPECT_EQ(set(values, row("pml", "ipc_cache_bytes"), "1G"), Status::kOk);
    EXPECT_EQ(values.pml_ipc_cache_bytes, 1u << 30);
}

TEST(Config, MalformedNumbersAreRefused) {
    LogCapture capture;
    Params values;
    const Row& eager = row("pml", "eager_limit");
    for (const char* text : {"", " 4096", "4096 ", "-1", "+5", "0x1000", "4.5k", "4kk", "4T", "k",
                             "4096b", "99999999999999999999", "18014398509481984k", "many"}) {
        EXPECT_EQ(set(values, eager, text), Status::kInvalid) << '\'' << text << '\'';
    }
    EXPECT_EQ(values.pml_eager_limit, Params{}.pml_eager_limit);
    EXPECT_EQ(set(values, row("pml", "staging_depth"), "1k"), Status::kInvalid)
        << "a suffix belongs to sizes only";
}

TEST(Config, ARefusalNamesParameterValueAndRange) {
    LogCapture capture;
    Params values;
    EXPECT_EQ(set(values, row("pml", "staging_depth"), "1000"), Status::kInvalid);
    ASSERT_EQ(capture.lines().size(), 1u);
    EXPECT_EQ(capture.lines().front(),
              "parameter pml_beeline_staging_depth: '1000' is refused; allowed: 2 to 64 chunks");
    EXPECT_EQ(capture.levels().front(), LogLevel::kError);
    EXPECT_EQ(values.pml_staging_depth, Params{}.pml_staging_depth);
}

TEST(Config, BooleansTakeTheUsualWords) {
    LogCapture capture;
    Params values;
    const Row& report = row("pml", "report");
    for (const char* text : {"1", "true", "yes", "on", "enabled"}) {
        values.pml_report = false;
        EXPECT_EQ(set(values, report, text), Status::kOk);
        EXPECT_TRUE(values.pml_report) << text;
        EXPECT_EQ(printed(values, report), "true");
    }
    for (const char* text : {"0", "false", "no", "off", "disabled"}) {
        values.pml_report = true;
        EXPECT_EQ(set(values, report, text), Status::kOk);
        EXPECT_FALSE(values.pml_report) << text;
        EXPECT_EQ(printed(values, report), "false");
    }
    values.pml_report = true;
    EXPECT_EQ(set(values, report, "2"), Status::kInvalid);
    EXPECT_EQ(set(values, report, ""), Status::kInvalid);
    EXPECT_TRUE(values.pml_report);
    EXPECT_EQ(capture.count("parameter pml_beeline_report: '2' is refused; allowed: true or false"),
              1);
}

TEST(Config, AChoiceIsOneOfItsWords) {
    LogCapture capture;
    Params values;
    const Row& memory = row("coll", "memory");
    EXPECT_EQ(set(values, memory, "host"), Status::kOk);
    EXPECT_EQ(values.coll_memory, 1);
    EXPECT_EQ(printed(values, memory), "host");
    for (const char* text : {"", "hos", "device|host", "Host", "host "}) {
        EXPECT_EQ(set(values, memory, text), Status::kInvalid) << '\'' << text << '\'';
    }
    EXPECT_EQ(values.coll_memory, 1);
    EXPECT_EQ(capture.count("allowed: device|host"), 5);
}

TEST(Config, ANameIsOneOfItsWordsOrLooksLikeOne) {
    LogCapture capture;
    Params values;
    const Row& algorithm = row("coll", "allreduce_algorithm");
    EXPECT_EQ(set(values, algorithm, "recursive_doubling"), Status::kOk);
    const int chosen = values.coll_allreduce_algorithm;
    EXPECT_NE(chosen, 0);
    EXPECT_EQ(printed(values, algorithm), "recursive_doubling");
    EXPECT_TRUE(has_word(algorithm, "recursive_doubling"));
    for (const char* text :
         {"", "ring|staged", "ring ", "a-b",
          "a_name_that_is_longer_than_the_sixty_three_characters_that_are_kept"}) {
        EXPECT_EQ(set(values, algorithm, text), Status::kInvalid) << '\'' << text << '\'';
    }
    EXPECT_EQ(values.coll_allreduce_algorithm, chosen);
    EXPECT_EQ(capture.count("allowed: auto|staged|one_shot|two_shot|ring|recursive_doubling"), 5);
    for (const char* text : {"My_ring_2", "other", "My_ring_2"}) {
        EXPECT_EQ(set(values, algorithm, text), Status::kOk);
        EXPECT_EQ(printed(values, algorithm), text);
        EXPECT_EQ(word(algorithm, values.coll_allreduce_algorithm), text);
        EXPECT_FALSE(has_word(algorithm, text));
    }
    // Equal names are equal numbers, also of other parameters.
    const int number = values.coll_allreduce_algorithm;
    EXPECT_EQ(set(values, algorithm, "other"), Status::kOk);
    EXPECT_NE(values.coll_allreduce_algorithm, number);
    const Row& bcast = row("coll", "bcast_algorithm");
    EXPECT_EQ(set(values, bcast, "My_ring_2"), Status::kOk);
    EXPECT_EQ(printed(values, bcast), "My_ring_2");
}

TEST(Config, PrintCutsToTheRoomGiven) {
    char text[4];
    Params values;
    ASSERT_EQ(set(values, row("coll", "allreduce_algorithm"), "staged"), Status::kOk);
    EXPECT_STREQ(print(values, row("coll", "allreduce_algorithm"), text), "sta");
}

}  // namespace
}  // namespace beeline::config
