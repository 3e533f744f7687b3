// SPDX-License-Identifier: BSD-3-Clause
// An algorithm that files brought: a candidate like those that are built in.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "coll/plan/algorithm.hpp"
#include "coll/plan/imported.hpp"

namespace beeline::coll::plan {

/// The schedules of one collective and one name, each for one number of ranks (and one root).
///
/// What a file says of its schedule is a start only; what it serves, proofs decide: callers in
/// place and others, blocks of unequal length, operations that do not commute.
class Loaded {
 public:
    /// Of `name` (see name_of()).
    Loaded(Collective collective, std::string name);
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    /// Takes what a file held, which must be ok and of this collective. Empty; or why it is
    /// refused, and nothing has changed then.
    std::string add(Imported imported);

    /// As the table of algorithms describes one; valid as long as this object is.
    const Algorithm& algorithm() const noexcept { return algorithm_; }

 private:
    /// The schedules of all ranks, and what they were proved to serve.
    struct World {
        std::vector<Schedule> schedules;
        std::array<bool, 4> cuts{};  ///< by Cut
        bool ordered = false;
        Range bytes;
        Cost cost;  ///< for one byte
    };

    const World* find(const Request& request) const noexcept;
    const char* refuses(const Request& request) const noexcept;
    Schedule build(const Request& request) const;
    Cost cost(const Request& request, double bytes) const noexcept;
    bool claims(const Request& request, double bytes) const noexcept;

    std::string name_;
    /// The refusal of other numbers of ranks.
    std::string other_ranks_ = "it has no schedule";
    std::vector<std::unique_ptr<const World>> worlds_;
    Algorithm algorithm_;
};

/// The name by which parameters and rules call what a file holds: the file's own, with `_` for all
/// that is no letter or digit.
std::string name_of(const Imported& imported);

}  // namespace beeline::coll::plan
