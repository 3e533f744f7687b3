// SPDX-License-Identifier: BSD-3-Clause
// Symbolic contents of a buffer: which elements of the vector lie where, and whose contributions
// they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace beeline::coll::plan {

/// Names a set of contributions in a Contributions store.
using ContributionId = std::uint32_t;

/// The sets of contributions that occur, each stored once.
class Contributions {
 public:
    explicit Contributions(int size);

    /// What `rank` alone contributes.
    ContributionId single(int rank) const { return static_cast<ContributionId>(rank); }

    /// left (op) right; nothing when a rank would be counted twice.
    std::optional<ContributionId> combine(ContributionId left, ContributionId right);

    /// Every rank is in it.
    bool complete(ContributionId id) const;
    /// Combined in rank order, without a gap.
    bool ordered(ContributionId id) const { return sets_[id].ordered; }

 private:
    struct Set {
        std::vector<std::uint64_t> ranks;
        int members = 1;
        int first = 0;
        int last = 0;
        bool ordered = true;
    };
    int size_;
    std::vector<Set> sets_;
    std::map<std::pair<ContributionId, ContributionId>, ContributionId> known_;
};

/// A run of positions [begin, end) that hold vector elements [begin + shift, end + shift).
struct Segment {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::ptrdiff_t shift = 0;
    ContributionId id = 0;
};

/// The contents of one buffer as disjoint ascending segments; what no segment covers is undefined.
class Contents {
 public:
    /// The segments in [begin, end), cut to it.
    std::vector<Segment> read(std::size_t begin, std::size_t end) const;
    /// Replaces [begin, end) by `segments`, which must lie in it.
    void write(std::size_t begin, std::size_t end, const std::vector<Segment>& segments);

 private:
    std::vector<Segment> segments_;
};

/// Moves segments from one position to another: they keep the vector elements they hold.
std::vector<Segment> moved(std::vector<Segment> segments, std::size_t from, std::size_t to);

}  // namespace beeline::coll::plan
