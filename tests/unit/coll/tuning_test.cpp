// SPDX-License-Identifier: BSD-3-Clause
// Tuning files: what they decide, what is refused, and how differences show.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "coll/select/select.hpp"

namespace beeline::coll::select {
namespace {

using plan::Collective;

Facts facts_of(int size, double bytes) {
    Facts facts;
    facts.request.collective = Collective::kAllreduce;
    facts.request.size = size;
    facts.bytes = bytes;
    return facts;
}

Tuning tuned(const std::string& lines) {
    Tuning tuning;
    EXPECT_EQ(parse("beeline-tuning 1\n" + lines, "t", tuning), "");
    return tuning;
}

std::string problem_of(const std::string& text) {
    Tuning tuning;
    return parse(text, "t", tuning);
}

const config::Row* row_of(const char* name) {
    for (const config::Row& row : config::rows()) {
        if (std::strcmp(row.component, "coll") == 0 && std::strcmp(row.name, name) == 0) {
            return &row;
        }
    }
    return nullptr;
}

TEST(Tuning, TheFirstRuleThatFitsDecides) {
    const config::Params params;
    const Tuning tuning = tuned(
        "# comments and empty lines\n\n"
        "rule collective=allreduce ranks=2-4 bytes=1K-1M algorithm=ring slices=3 # here too\n"
        "rule collective=allreduce ranks=2-4 algorithm=bruck\n"
        "rule collective=bcast algorithm=chain\n");
    const Settings settings{&params, &tuning};
    const auto chosen = [&](int size, double bytes) {
        return choose(facts_of(size, bytes), settings);
    };
    EXPECT_STREQ(chosen(4, 1024).algorithm->name, "ring");
    EXPECT_STREQ(chosen(4, 1 << 20).algorithm->name, "ring");
    EXPECT_EQ(chosen(4, 1024).slices, 3);
    EXPECT_EQ(chosen(4, 1024).line, 4);
    EXPECT_STREQ(chosen(4, 1023).algorithm->name, "bruck");
    EXPECT_STREQ(chosen(4, (1 << 20) + 1).algorithm->name, "bruck");
    EXPECT_EQ(chosen(5, 1024).line, 0);
}

TEST(Tuning, RulesLookAtNodes) {
    const config::Params params;
    const Tuning tuning = tuned("rule collective=allreduce nodes=2- algorithm=ring\n");
    const Settings settings{&params, &tuning};
    Facts facts = facts_of(4, 8);
    EXPECT_EQ(choose(facts, settings).line, 0);
    const std::vector<int> nodes = {0, 0, 1, 1};
    facts.request.node_of = nodes;
    EXPECT_EQ(choose(facts, settings).line, 2);
}

TEST(Tuning, ARuleMayHandOver) {
    const config::Params params;
    const Tuning tuning = tuned("rule collective=allreduce bytes=0-64K algorithm=staged\n");
    const Choice handed = choose(facts_of(4, 65536), {&params, &tuning});
    EXPECT_EQ(handed.algorithm, nullptr);
    EXPECT_EQ(handed.line, 2);
    EXPECT_EQ(choose(facts_of(4, 65537), {&params, &tuning}).line, 0);
}

TEST(Tuning, ARuleThatCannotServeGivesWay) {
    const config::Params params;
    const Tuning tuning = tuned("rule collective=allreduce algorithm=ring\n");
    Facts facts = facts_of(4, 8);
    facts.request.commutative = false;  // a ring begins elsewhere for each chunk
    const Choice choice = choose(facts, {&params, &tuning});
    EXPECT_EQ(choice.line, 0);
    ASSERT_NE(choice.algorithm, nullptr);
    EXPECT_STRNE(choice.algorithm->name, "ring");
}

TEST(Tuning, ParametersStandAboveRules) {
    config::Params params;
    ASSERT_EQ(config::set(params, *row_of("allreduce_algorithm"), "two_shot"), Status::kOk);
    const Tuning tuning = tuned("rule collective=allreduce algorithm=bruck\n");
    EXPECT_STREQ(choose(facts_of(4, 8), {&params, &tuning}).algorithm->name, "two_shot");
}

TEST(Tuning, RatesChangeChoices) {
    const config::Params params;
    const Tuning slow = tuned(
        "link class=staging alpha=1e5 bandwidth=1e-5\n"
        "link class=device alpha=0.001 bandwidth=0.001\n"
        "reduction class=device bandwidth=1000\n");
    const Tuning fast = tuned(
        "link class=staging alpha=1e5 bandwidth=1\n"
        "link class=device alpha=1000 bandwidth=1000\n");
    const Choice few_bytes = choose(facts_of(8, 4096), {&params, &slow});
    const Choice few_steps = choose(facts_of(8, 4096), {&params, &fast});
    EXPECT_STREQ(few_steps.algorithm->name, "one_shot");
    EXPECT_STRNE(few_bytes.algorithm->name, "one_shot");
    EXPECT_DOUBLE_EQ(fast.model.device.link.alpha, 1e-3);
    EXPECT_DOUBLE_EQ(fast.model.device.link.beta, 1e-12);
}

TEST(Tuning, WhatIsWrongIsNamedWithFileLineValueAndWhatIsAllowed) {
    EXPECT_EQ(problem_of(""), "t:1: first line '' is refused; allowed: beeline-tuning 1");
    EXPECT_EQ(problem_of("\nbeeline-tuning 2\n"),
              "t:2: first line 'beeline-tuning' is refused; allowed: beeline-tuning 1");
    const std::string head = "beeline-tuning 1\n";
    EXPECT_EQ(problem_of(head + "rules\n"),
              "t:2: statement 'rules' is refused; allowed: link, reduction, rule");
    EXPECT_EQ(problem_of(head + "\nrule collective=scan algorithm=ring\n"),
              "t:3: algorithm 'ring' is refused; allowed: staged, linear, recursive_doubling");
    EXPECT_EQ(problem_of(head + "rule collective=scan algorithm=linear bytes=1K-2X"),
              "t:2: bytes '1K-2X' is refused; allowed: N, N-M or N-, with K, M, G");
    EXPECT_EQ(problem_of(head + "rule collective=scan algorithm=linear ranks=8-2"),
              "t:2: ranks '8-2' is refused; allowed: N, N-M or N-");
    EXPECT_EQ(problem_of(head + "rule collective=scan algorithm=linear slices=0"),
              "t:2: slices '0' is refused; allowed: 1 to 4096");
    EXPECT_EQ(problem_of(head + "rule scan"), "t:2: word 'scan' is refused; allowed: key=value");
    EXPECT_EQ(problem_of(head + "link class=moon bandwidth=1"),
              "t:2: class 'moon' is refused; allowed: device, host, across, staging");
    EXPECT_EQ(problem_of(head + "link class=host bandwidth=nan"),
              "t:2: bandwidth 'nan' is refused; allowed: GB/s above 0, below 1000000");
    EXPECT_EQ(problem_of(head + "link class=host alpha=-1 bandwidth=1"),
              "t:2: alpha '-1' is refused; allowed: microseconds above 0, below 1000000");
    EXPECT_EQ(problem_of(head + "reduction class=across bandwidth=1"),
              "t:2: class 'across' is refused; allowed: device, host");
    EXPECT_NE(problem_of(head + "rule collective=sum algorithm=linear").find("collective 'sum'"),
              std::string::npos);
}

TEST(Tuning, ARefusedFileChangesNothing) {
    Tuning tuning = tuned("rule collective=allreduce algorithm=bruck\n");
    const config::Params params;
    const std::uint64_t before = fingerprint(tuning, params);
    EXPECT_NE(parse("beeline-tuning 1\nlink class=host bandwidth=1\nrule\n", "t", tuning), "");
    EXPECT_EQ(fingerprint(tuning, params), before);
}

TEST(Tuning, AFileThatCannotBeReadIsNamed) {
    Tuning tuning;
    EXPECT_NE(load("/nowhere/at/all", tuning).find("/nowhere/at/all: No such file"),
              std::string::npos);
}

TEST(Tuning, FingerprintsTellSettingsApart) {
    const config::Params params;
    const Tuning plain;
    const std::uint64_t built_in = fingerprint(plain, params);
    EXPECT_EQ(fingerprint(tuned("# nothing\n"), params), built_in);
    for (const char* lines :
         {"link class=host bandwidth=1\n", "link class=across bandwidth=1\n",
          "link class=staging bandwidth=1\n", "rule collective=allreduce algorithm=staged\n",
          "reduction class=device bandwidth=1\n", "rule collective=allreduce algorithm=bruck\n"}) {
        EXPECT_NE(fingerprint(tuned(lines), params), built_in) << lines;
    }
    for (const char* name : {"allreduce_algorithm", "neighbor_alltoall_algorithm"}) {
        config::Params other;
        ASSERT_EQ(config::set(other, *row_of(name), "staged"), Status::kOk);
        EXPECT_NE(fingerprint(plain, other), built_in) << name;
    }
    config::Params host;
    ASSERT_EQ(config::set(host, *row_of("memory"), "host"), Status::kOk);
    EXPECT_NE(fingerprint(plain, host), built_in);
    config::Params reproducible;
    reproducible.coll_reproducible = true;
    EXPECT_NE(fingerprint(plain, reproducible), built_in);
    config::Params reported;
    reported.coll_report = true;  // decides nothing
    EXPECT_EQ(fingerprint(plain, reported), built_in);
}

TEST(Choices, AreRememberedByWhatTheyDependOn) {
    const config::Params params;
    const Tuning tuning = tuned("rule collective=allreduce bytes=0-99 algorithm=bruck\n");
    const Settings settings{&params, &tuning};
    Choices choices;
    for (int pass = 0; pass < 3; ++pass) {
        for (const double bytes : {8.0, 99.0, 100.0, 1e6, 1e9}) {
            for (const bool commutative : {true, false}) {
                Facts facts = facts_of(4, bytes);
                facts.request.commutative = commutative;
                const Choice expected = choose(facts, settings);
                const Choice kept = choices.choose(facts, settings);
                EXPECT_EQ(kept.algorithm, expected.algorithm);
                EXPECT_EQ(kept.slices, expected.slices);
                EXPECT_EQ(choices.choose(facts, settings).algorithm, expected.algorithm);
                EXPECT_FALSE(choices.fresh());
            }
        }
    }
}

TEST(Explain, NamesAllCandidatesTheirRefusalsAndTheChoice) {
    Facts facts = facts_of(4, 1 << 20);
    facts.request.commutative = false;
    const std::string text = explain(facts, built_in_settings());
    for (const plan::Algorithm* algorithm : plan::algorithms(Collective::kAllreduce)) {
        EXPECT_NE(text.find(algorithm->name), std::string::npos) << algorithm->name;
    }
    EXPECT_NE(text.find("ring                 refused: "), std::string::npos) << text;
    EXPECT_NE(text.find("\nstaged "), std::string::npos) << text;
    EXPECT_NE(text.find("\nfused_one_shot       refused: asked for by neither"), std::string::npos);
    config::Params fused;
    fused.coll_fused = true;
    const std::string asked = explain(facts, {&fused, built_in_settings().tuning});
    EXPECT_NE(asked.find("\nfused_two_shot              2 "), std::string::npos) << asked;
    EXPECT_NE(text.find("chosen: "), std::string::npos);
}

}  // namespace
}  // namespace beeline::coll::select
