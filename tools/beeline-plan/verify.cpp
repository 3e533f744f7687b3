// SPDX-License-Identifier: BSD-3-Clause
// Proofs and lists.
#include <cstdio>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/prove.hpp"
#include "tools/beeline-plan/plan.hpp"

namespace beeline::tool {

namespace plan = coll::plan;

int verify(const VerifyOptions& options) {
    plan::Extent extent;
    if (options.quick) {
        extent.every_size = 33;
        extent.every_root = 5;
        extent.random_sizes = 1;
        extent.work = 400'000;
    }
    plan::Tally all;
    int proved = 0;
    int failed = 0;
    std::printf("%-20s %-20s %8s %12s %12s %8s %8s\n", "collective", "algorithm", "worlds", "ops",
                "messages", "ranks <=", "scratch");
    for (const plan::Algorithm* algorithm : plan::algorithms()) {
        const char* collective = to_string(algorithm->collective);
        if ((!options.collective.empty() && options.collective != collective) ||
            (!options.algorithm.empty() && options.algorithm != algorithm->name)) {
            continue;
        }
        const plan::Tally tally = prove(*algorithm, extent);
        std::printf("%-20s %-20s %8llu %12llu %12llu %8d %8.1f%s\n", collective, algorithm->name,
                    static_cast<unsigned long long>(tally.worlds),
                    static_cast<unsigned long long>(tally.ops),
                    static_cast<unsigned long long>(tally.messages), tally.largest, tally.scratch,
                    tally.problem.empty() ? "" : "  FAILED");
        std::fflush(stdout);
        if (!tally.problem.empty()) {
            std::printf("  %s\n", tally.problem.c_str());
            ++failed;
            continue;
        }
        ++proved;
        all.worlds += tally.worlds;
        all.ops += tally.ops;
        all.messages += tally.messages;
    }
    std::printf("proved %d algorithms in %llu worlds: %llu ops, %llu messages; %d failed\n", proved,
                static_cast<unsigned long long>(all.worlds),
                static_cast<unsigned long long>(all.ops),
                static_cast<unsigned long long>(all.messages), failed);
    return failed == 0 && proved > 0 ? 0 : 1;
}

int list(const std::string& collective) {
    int found = 0;
    std::printf("%-20s %-20s %-10s %s\n", "collective", "algorithm", "pipelines", "source");
    for (const plan::Algorithm* algorithm : plan::algorithms()) {
        if (collective.empty() || collective == to_string(algorithm->collective)) {
            std::printf("%-20s %-20s %-10s %s\n", to_string(algorithm->collective), algorithm->name,
                        algorithm->pipelines ? "yes" : "no", algorithm->source);
            ++found;
        }
    }
    if (found == 0) {
        std::fprintf(stderr, "beeline-plan: no collective \"%s\"\n", collective.c_str());
    }
    return found > 0 ? 0 : 2;
}

}  // namespace beeline::tool
