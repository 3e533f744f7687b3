// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms.
#include "tools/beeline-tune/candidates.hpp"

#include "coll/select/select.hpp"

namespace beeline::tune {

namespace plan = coll::plan;

std::vector<Candidate> candidates(bench::Operation operation, int ranks, std::size_t bytes,
                                  bool host_memory) {
    coll::select::Facts facts;
    std::vector<Candidate> all;
    if (!plan::find(bench::to_string(operation), facts.request.collective)) {
        return all;
    }
    facts.request.size = ranks;
    facts.bytes = static_cast<double>(bytes);
    coll::select::Settings settings = coll::select::built_in_settings();
    settings.no_gpu = host_memory;
    for (const coll::select::Candidate& one : coll::select::candidates(facts, settings)) {
        if (one.algorithm == nullptr) {
            all.insert(all.begin(), {"staged", 1});
        } else if (one.refusal == nullptr) {
            all.push_back({one.algorithm->name, one.slices});
        }
    }
    return all;
}

}  // namespace beeline::tune
