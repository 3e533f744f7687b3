// SPDX-License-Identifier: BSD-3-Clause
// Files of schedules that a job may run.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coll/plan/loaded.hpp"
#include "coll/select/tuning.hpp"

namespace beeline::coll::select {

/// Holds what the files of coll_beeline_schedule_file brought. Rules and choices point into it.
class ScheduleFiles {
 public:
    /// Most algorithms; more files may bring them for other numbers of ranks.
    static constexpr std::size_t kMost = 16;

    /// Reads the files that `list` names, separated by commas. One that is malformed, or whose
    /// schedules are not proved, is left out: problems() says why.
    void load(std::string_view list);

    /// One line for each file that was left out: which, what is wrong, and what is allowed.
    const std::vector<std::string>& problems() const noexcept { return problems_; }

    /// Makes what was loaded candidates of `tuning`.
    void offer(Tuning& tuning) const;

    /// The process's own.
    static ScheduleFiles& own() noexcept;

 private:
    std::string load_one(const std::string& file);
    plan::Loaded* find(plan::Collective collective, const std::string& name) const noexcept;

    std::vector<std::unique_ptr<plan::Loaded>> loaded_;
    std::vector<std::string> problems_;
    std::uint64_t hash_ = 0;
};

}  // namespace beeline::coll::select
