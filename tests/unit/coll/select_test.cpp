// SPDX-License-Identifier: BSD-3-Clause
// The choice of a schedule: by cost, by parameter, by what the algorithms can do.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "coll/select/fused.hpp"
#include "coll/select/select.hpp"

namespace beeline::coll::select {
namespace {

using plan::Collective;

const config::Row* row_of(Collective collective) {
    const std::string name = std::string(plan::to_string(collective)) + "_algorithm";
    for (const config::Row& row : config::rows()) {
        if (std::strcmp(row.component, "coll") == 0 && name == row.name) {
            return &row;
        }
    }
    return nullptr;
}

config::Params with(Collective collective, const char* algorithm) {
    config::Params params;
    EXPECT_EQ(config::set(params, *row_of(collective), algorithm), Status::kOk);
    return params;
}

/// The built-in rates with these parameters.
Settings settings_of(const config::Params& params) {
    return {&params, built_in_settings().tuning};
}

Facts facts_of(Collective collective, int size, double bytes) {
    Facts facts;
    facts.request.collective = collective;
    facts.request.size = size;
    facts.bytes = bytes;
    return facts;
}

TEST(Select, TheWordsOfAParameterAreTheNamesOfItsAlgorithms) {
    for (int index = 0; index < plan::kCollectives; ++index) {
        const auto collective = static_cast<Collective>(index);
        ASSERT_NE(row_of(collective), nullptr) << plan::to_string(collective);
        std::set<std::string> names = {"auto", "staged"};
        for (const plan::Algorithm* algorithm : plan::algorithms(collective)) {
            names.insert(algorithm->name);
            EXPECT_EQ(wanted(collective, with(collective, algorithm->name)), algorithm->name);
        }
        for (const plan::Algorithm* algorithm : fused_algorithms()) {
            if (algorithm->collective == collective) {
                names.insert(algorithm->name);
            }
        }
        std::set<std::string> words;
        std::string word;
        for (const char* at = row_of(collective)->words;; ++at) {
            if (*at == '|' || *at == '\0') {
                words.insert(word);
                word.clear();
            } else {
                word += *at;
            }
            if (*at == '\0') {
                break;
            }
        }
        EXPECT_EQ(words, names) << plan::to_string(collective);
    }
}

TEST(Select, LongVectorsTakeAnotherAlgorithmThanShortOnes) {
    const config::Params params;
    const Choice small = choose(facts_of(Collective::kAllreduce, 4, 8), settings_of(params));
    const Choice large = choose(facts_of(Collective::kAllreduce, 4, 64 << 20), settings_of(params));
    ASSERT_NE(small.algorithm, nullptr);
    ASSERT_NE(large.algorithm, nullptr);
    EXPECT_NE(small.algorithm, large.algorithm);
}

TEST(Select, TheParameterDecides) {
    for (const plan::Algorithm* algorithm : plan::algorithms(Collective::kAllreduce)) {
        const Facts facts = facts_of(Collective::kAllreduce, 8, 1 << 20);
        const config::Params params = with(Collective::kAllreduce, algorithm->name);
        const Choice choice = choose(facts, settings_of(params));
        if (plan::refuses(*algorithm, facts.request) == nullptr) {
            EXPECT_EQ(choice.algorithm, algorithm) << algorithm->name;
        } else {
            EXPECT_NE(choice.algorithm, nullptr) << algorithm->name;
        }
        EXPECT_STRNE(choice.reason, "");
    }
    const config::Params staged = with(Collective::kAllreduce, "staged");
    EXPECT_EQ(choose(facts_of(Collective::kAllreduce, 8, 8), settings_of(staged)).algorithm,
              nullptr);
}

TEST(Select, WhatIsChosenIsNeverRefused) {
    const config::Params params;
    for (int index = 0; index < plan::kCollectives; ++index) {
        const auto collective = static_cast<Collective>(index);
        for (const int size : {2, 3, 4, 5, 7, 8, 16}) {
            for (const bool commutative : {true, false}) {
                for (const double bytes : {1.0, 4096.0, 1e6, 1e9}) {
                    Facts facts = facts_of(collective, size, bytes);
                    facts.request.commutative = commutative;
                    const Choice choice = choose(facts, settings_of(params));
                    EXPECT_STREQ(choice.reason, "the cheapest by the cost model");
                    if (choice.algorithm != nullptr) {
                        EXPECT_EQ(plan::refuses(*choice.algorithm, facts.request), nullptr);
                    }
                    EXPECT_GE(choice.slices, 1);
                }
            }
        }
    }
}

// Short vectors of many ranks are cheaper on host copies, whose steps cost little; long ones are
// not worth copying.
TEST(Select, HostCopiesServeWhereTheyAreCheapest) {
    const config::Params params;
    const auto staged = [&](Collective collective, int size, double bytes) {
        return choose(facts_of(collective, size, bytes), settings_of(params)).algorithm == nullptr;
    };
    EXPECT_TRUE(staged(Collective::kAllreduce, 64, 8));
    EXPECT_FALSE(staged(Collective::kAllreduce, 64, 64 << 20));
    EXPECT_FALSE(staged(Collective::kAllreduce, 2, 8));
    EXPECT_TRUE(staged(Collective::kBarrier, 2, 0));
    EXPECT_FALSE(staged(Collective::kAlltoall, 1, 64 << 20));  // a copy, which costs no message
    Facts unknown = facts_of(Collective::kAlltoall, 64, 0);
    unknown.bytes_known = false;
    EXPECT_NE(choose(unknown, settings_of(params)).algorithm, nullptr);
}

TEST(Select, OnHostMemoryOnlyWhatWasMeasuredReplacesThePreviousModule) {
    const config::Params params;
    Settings settings = settings_of(params);
    settings.no_gpu = true;
    for (const double bytes : {8.0, 65536.0, 64e6}) {
        EXPECT_EQ(choose(facts_of(Collective::kAllreduce, 4, bytes), settings).algorithm, nullptr);
    }
    Facts unknown = facts_of(Collective::kAlltoall, 4, 0);
    unknown.bytes_known = false;
    EXPECT_EQ(choose(unknown, settings).algorithm, nullptr);
    settings.no_gpu = false;
    EXPECT_NE(choose(unknown, settings).algorithm, nullptr);
    // A rule of a tuning file decides all the same.
    settings.no_gpu = true;
    Tuning tuning;
    ASSERT_EQ(parse("beeline-tuning 1\nrule collective=allreduce algorithm=ring\n", "t", tuning),
              "");
    settings.tuning = &tuning;
    EXPECT_STREQ(choose(facts_of(Collective::kAllreduce, 4, 8), settings).algorithm->name, "ring");
}

TEST(Select, OnlyFoldsAreReproducible) {
    config::Params params;
    params.coll_reproducible = true;
    for (int index = 0; index < plan::kCollectives; ++index) {
        const auto collective = static_cast<Collective>(index);
        if (!plan::reduces(collective)) {
            continue;
        }
        for (const int size : {1, 2, 5, 64}) {
            for (const double bytes : {0.0, 8.0, 1e9}) {
                const Choice choice =
                    choose(facts_of(collective, size, bytes), settings_of(params));
                ASSERT_NE(choice.algorithm, nullptr) << plan::to_string(collective);
                EXPECT_TRUE(choice.algorithm->folds) << plan::to_string(collective);
            }
        }
    }
    // Whatever is asked for.
    const Facts facts = facts_of(Collective::kAllreduce, 8, 1 << 20);
    for (const char* word : {"staged", "ring", "hierarchical", "one_shot"}) {
        config::Params forced = with(Collective::kAllreduce, word);
        forced.coll_reproducible = true;
        const Choice choice = choose(facts, settings_of(forced));
        ASSERT_NE(choice.algorithm, nullptr) << word;
        EXPECT_TRUE(choice.algorithm->folds) << word;
    }
    Tuning tuning;
    ASSERT_EQ(parse("beeline-tuning 1\nrule collective=allreduce algorithm=ring\n", "t", tuning),
              "");
    EXPECT_EQ(choose(facts, {&params, &tuning}).line, 0);
}

TEST(Select, OneKernelServesShortVectorsWhereAllRanksAgreed) {
    const Facts facts = facts_of(Collective::kAllreduce, 4, 1024);
    const plan::Algorithm* schedule = plan::find(Collective::kAllreduce, "one_shot");
    const FusedFacts able = {true, 65536, 131072};
    const auto prefer = [&](const char* word, const FusedFacts& fused, double bytes) {
        const plan::Algorithm* found = prefer_fused(word, fused, facts.request, bytes, schedule);
        return std::string(found == nullptr ? "" : found->name);
    };
    EXPECT_EQ(prefer("auto", able, 1024), "fused_one_shot");
    EXPECT_EQ(prefer("fused_two_shot", able, 131072), "fused_two_shot");
    EXPECT_EQ(prefer("auto", able, 131073), "");
    EXPECT_EQ(prefer("auto", able, 0), "");
    EXPECT_EQ(prefer("auto", {}, 1024), "");
    EXPECT_EQ(prefer("ring", able, 1024), "");
    EXPECT_EQ(prefer("fused_two_shot", able, 1024), "fused_two_shot");
    EXPECT_EQ(prefer("fused_one_shot", able, 65537), "");
    const Facts other = facts_of(Collective::kBcast, 4, 1024);
    EXPECT_EQ(prefer_fused("auto", able, other.request, 1024, schedule), nullptr);
}

}  // namespace
}  // namespace beeline::coll::select
