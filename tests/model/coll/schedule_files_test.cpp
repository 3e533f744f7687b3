// SPDX-License-Identifier: BSD-3-Clause
// Files of schedules: what is loaded, what is refused and how it is said, and how the choice takes
// them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "coll/plan/json.hpp"
#include "coll/select/fused.hpp"
#include "coll/select/schedule_files.hpp"
#include "coll/select/select.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::select {
namespace {

using plan::Collective;

/// A folder that is gone at the end.
class Folder {
 public:
    Folder() {
        char name[] = "/tmp/beeline-schedules-XXXXXX";
        path_ = mkdtemp(name);
    }
    ~Folder() {
        for (const std::string& file : files_) {
            std::remove(file.c_str());
        }
        std::remove(path_.c_str());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string write(const std::string& name, const std::string& text) {
        files_.push_back(path_ + '/' + name);
        std::FILE* file = std::fopen(files_.back().c_str(), "w");
        EXPECT_NE(file, nullptr);
        std::fwrite(text.data(), 1, text.size(), file);
        std::fclose(file);
        return files_.back();
    }

 private:
    std::string path_;
    std::vector<std::string> files_;
};

/// An allreduce on 4 ranks by a built-in algorithm, under another name.
std::string document(const char* name, const char* algorithm = "ring",
                     const plan::Range& bytes = {}) {
    plan::Request request;
    request.size = 4;
    std::vector<plan::Schedule> world =
        plan::build_world(*plan::find(Collective::kAllreduce, algorithm), request);
    for (plan::Schedule& schedule : world) {
        schedule.algorithm = name;
    }
    return plan::to_json(world, {}, bytes);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

Facts facts_of(double bytes, int ranks = 4) {
    Facts facts;
    facts.request.size = ranks;
    facts.bytes = bytes;
    return facts;
}

config::Params named(const char* algorithm) {
    config::Params params;
    for (const config::Row& row : config::rows()) {
        if (std::strcmp(row.name, "allreduce_algorithm") == 0) {
            EXPECT_EQ(config::set(params, row, algorithm), Status::kOk);
        }
    }
    return params;
}

TEST(ScheduleFiles, AreCandidatesOnceTheyAreLoaded) {
    Folder folder;
    ScheduleFiles files;
    files.load(folder.write("a", document("mine")) + ',' +
               folder.write("b", document("other", "bruck")));
    EXPECT_TRUE(files.problems().empty());
    Tuning tuning;
    files.offer(tuning);
    ASSERT_EQ(tuning.loaded.size(), 2U);
    EXPECT_STREQ(tuning.loaded[0]->name, "mine");
    EXPECT_EQ(find(Collective::kAllreduce, "other", tuning), tuning.loaded[1]);
    EXPECT_EQ(find(Collective::kBcast, "other", tuning), nullptr);
    EXPECT_EQ(find(Collective::kAllreduce, "ring", tuning),
              plan::find(Collective::kAllreduce, "ring"));
    const config::Params params;
    const std::string text = explain(facts_of(1024), {&params, &tuning});
    EXPECT_NE(text.find("\nmine "), std::string::npos) << text;
    EXPECT_NE(text.find("chosen: mine, 1 slices: loaded for these ranks and bytes"),
              std::string::npos)
        << text;
    EXPECT_NE(explain(facts_of(1024, 5), {&params, &tuning})
                  .find("\nother                refused: it is for 4 ranks"),
              std::string::npos);
}

TEST(ScheduleFiles, WhatIsWrongIsLeftOutAndSaid) {
    Folder folder;
    const std::string good = document("mine");
    struct Bad {
        const char* file;
        std::string text;
        const char* said;
    };
    const Bad cases[] = {
        {"json", "{", "allowed: schedules that `beeline-plan check` proves"},
        {"empty", "", "allowed: schedules that `beeline-plan check` proves"},
        {"xml", "<algo/>", ": its coll is \"\"; allreduce, allgather, reduce_scatter and alltoall"},
        {"field", replaced(good, "\"slots\": 0", "\"slots\": -1"),
         "\"slots\" is not a number from 0 to "},
        {"bytes", replaced(good, "\"ranks\"", "\"least_bytes\": -1, \"ranks\""),
         "\"least_bytes\" is not a number from 0"},
        {"range", document("mine", "ring", {9, 8}), "\"least_bytes\" is more than"},
        {"proof", replaced(good, "\"op\": \"reduce\"", "\"op\": \"copy\""), ": rank "},
        {"name", document("ring"),
         ": its name 'ring' is a word of coll_beeline_allreduce_algorithm; allowed: any other"},
        {"twice", good, "there is another schedule mine for 4 ranks; allowed: another name"},
        {"long", std::string((std::size_t{64} << 20) + 1, ' '),
         ": longer than 64 MiB; allowed: a file of up to 64 MiB"},
    };
    ScheduleFiles files;
    std::string list = folder.write("good", good) + ",/no/such/file";
    for (const Bad& bad : cases) {
        list += ',' + folder.write(bad.file, bad.text);
    }
    files.load(list);
    ASSERT_EQ(files.problems().size(), std::size(cases) + 1);
    EXPECT_EQ(files.problems()[0],
              "/no/such/file: No such file or directory; allowed: a file of up to 64 MiB");
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        const std::string& problem = files.problems()[i + 1];
        EXPECT_NE(problem.find(std::string("/") + cases[i].file + ": "), std::string::npos)
            << problem;
        EXPECT_NE(problem.find(cases[i].said), std::string::npos) << problem;
        EXPECT_NE(problem.find("allowed: "), std::string::npos) << problem;
    }
    Tuning tuning;
    files.offer(tuning);
    EXPECT_EQ(tuning.loaded.size(), 1U);
}

TEST(ScheduleFiles, AreFewAlgorithms) {
    Folder folder;
    std::string list;
    for (std::size_t i = 0; i <= ScheduleFiles::kMost; ++i) {
        const std::string name = "mine" + std::to_string(i);
        list += folder.write(name, document(name.c_str())) + ',';
    }
    ScheduleFiles files;
    files.load(list);
    ASSERT_EQ(files.problems().size(), 1U);
    EXPECT_NE(files.problems()[0].find("mine16: one algorithm too many; allowed: 16"),
              std::string::npos);
}

TEST(ScheduleFiles, DecideTheFingerprint) {
    Folder folder;
    const auto print_of = [&](const std::string& text) {
        ScheduleFiles files;
        if (!text.empty()) {
            files.load(folder.write("a", text));
        }
        Tuning tuning;
        files.offer(tuning);
        return fingerprint(tuning, config::Params{});
    };
    const std::uint64_t one = print_of(document("mine"));
    EXPECT_EQ(print_of(document("mine")), one);
    EXPECT_NE(print_of(document("yours")), one);
    EXPECT_NE(print_of(document("mine", "bruck")), one);
    EXPECT_NE(print_of(""), one);
    EXPECT_EQ(print_of(""), fingerprint(Tuning{}, config::Params{}));
    EXPECT_EQ(print_of("{"), print_of(""));  // what is refused decides nothing
}

class Choosing : public testing::Test {
 protected:
    Choosing() {
        files_.load(folder_.write("a", document("mine", "ring", {4096, 65535})));
        files_.offer(tuning_);
    }
    const plan::Algorithm* choose(double bytes, int ranks = 4) {
        return select::choose(facts_of(bytes, ranks), {&params_, &tuning_}).algorithm;
    }
    const plan::Algorithm* mine() const { return tuning_.loaded[0]; }

    Folder folder_;
    ScheduleFiles files_;
    Tuning tuning_;
    config::Params params_;
};

TEST_F(Choosing, TakesAFileForTheSizesItStates) {
    EXPECT_NE(choose(4095), mine());
    EXPECT_EQ(choose(4096), mine());
    EXPECT_EQ(choose(65535), mine());
    EXPECT_NE(choose(65536), mine());
    EXPECT_NE(choose(4096, 5), mine());
    EXPECT_NE(select::choose(facts_of(4096), built_in_settings()).algorithm, mine());
}

TEST_F(Choosing, AParameterNamesAFileForAllSizes) {
    params_ = named("mine");
    for (const double bytes : {0.0, 8.0, 4096.0, 1e9}) {
        EXPECT_EQ(choose(bytes), mine()) << bytes;
    }
    EXPECT_NE(choose(8, 5), mine());
    params_ = named("bruck");
    EXPECT_STREQ(choose(4096)->name, "bruck");
    params_ = named("staged");
    EXPECT_EQ(choose(4096), nullptr);
}

TEST_F(Choosing, RulesThatDoNotNameItComeAfterAFile) {
    ASSERT_EQ(parse("beeline-tuning 1\nrule collective=allreduce algorithm=bruck\n", "t", tuning_),
              "");
    EXPECT_STREQ(choose(8)->name, "bruck");
    EXPECT_EQ(choose(4096), mine());
}

TEST_F(Choosing, RulesThatNameAFileSayWhereItIsTaken) {
    ASSERT_EQ(parse("beeline-tuning 1\nrule collective=allreduce bytes=1M- algorithm=mine\n"
                    "rule collective=allreduce algorithm=bruck\n",
                    "t", tuning_),
              "");
    EXPECT_STREQ(choose(4096)->name, "bruck");
    EXPECT_EQ(choose(1 << 20), mine());
    const std::string problem =
        parse("beeline-tuning 1\nrule collective=allreduce algorithm=min\n", "t", tuning_);
    EXPECT_NE(problem.find("algorithm 'min' is refused; allowed: staged, one_shot"),
              std::string::npos);
    EXPECT_NE(problem.find(", mine"), std::string::npos) << problem;
}

TEST_F(Choosing, AFileIsNotReproducible) {
    params_.coll_reproducible = true;
    EXPECT_NE(choose(4096), mine());
}

TEST_F(Choosing, OneKernelDoesNotTakeAFilesPlace) {
    const FusedFacts facts{true, std::size_t{1} << 20, std::size_t{1} << 20};
    const plan::Request request = facts_of(4096).request;
    EXPECT_EQ(prefer_fused("auto", facts, request, 4096, mine()), nullptr);
    EXPECT_NE(prefer_fused("auto", facts, request, 4096, nullptr), nullptr);
    EXPECT_NE(prefer_fused("fused_one_shot", facts, request, 4096, mine()), nullptr);
}

TEST_F(Choosing, ParametersNameWhatThereIs) {
    EXPECT_EQ(refuse_word(Collective::kAllreduce, "mine", tuning_), "");
    EXPECT_EQ(refuse_word(Collective::kAllreduce, "fused_one_shot", tuning_), "");
    EXPECT_EQ(refuse_word(Collective::kAllreduce, "auto", tuning_), "");
    EXPECT_NE(refuse_word(Collective::kBcast, "mine", tuning_), "");
    const std::string problem = refuse_word(Collective::kAllreduce, "min", tuning_);
    EXPECT_NE(problem.find("parameter coll_beeline_allreduce_algorithm: 'min' is refused; allowed: "
                           "auto|staged|one_shot"),
              std::string::npos)
        << problem;
    EXPECT_NE(problem.find("|fused_two_shot|mine"), std::string::npos) << problem;
}

}  // namespace
}  // namespace beeline::coll::select
