// SPDX-License-Identifier: BSD-3-Clause
// What each collective means: what every chunk holds at the start and must hold at the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "coll/plan/validate.hpp"

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

    /// It is ranks 0 .. ranks-1, each once.
    bool is_first(ContributionId id, int ranks) const {
        return sets_[id].members == ranks && sets_[id].highest < ranks;
    }
    /// Combined in rank order, without a gap.
    bool ordered(ContributionId id) const { return sets_[id].ordered; }

 private:
    struct Set {
        int members = 1;
        int first = 0;  ///< of the order of operands
        int last = 0;
        int highest = 0;
        bool ordered = true;
    };
    std::size_t words_;
    std::vector<Set> sets_;
    std::vector<std::uint64_t> bits_;  ///< words_ of each set
    std::unordered_map<std::uint64_t, ContributionId> known_;
    std::uint64_t last_key_ = 0;
    ContributionId last_ = 0;
};

/// What a chunk holds: which part of the data, and whose contributions to it.
struct Label {
    static constexpr std::uint32_t kUndefined = 0xffffffff;
    std::uint32_t datum = kUndefined;
    ContributionId contributions = 0;
    bool defined() const noexcept { return datum != kUndefined; }
};

/// Data are numbered: chunks of the vector or of the frame by their index, data that travel from
/// one rank to another by both. Slice s of anything has a number that is s modulo the slices.
class Meaning {
 public:
    Meaning(std::span<const Schedule> world, std::span<const Neighbors> neighbors);

    /// The chunk of an input or output before anything happens; not defined where nothing is.
    Label initial(int rank, Buffer buffer, std::uint32_t chunk) const;

    /// The datum that an output chunk must hold at the end, and how many ranks' contributions to it
    /// (all_of: the first so many; 0: the one contribution of its origin). Not defined where any
    /// content is right.
    struct Wanted {
        std::uint32_t datum = Label::kUndefined;
        int all_of = 0;
    };
    Wanted wanted(int rank, std::uint32_t chunk) const;

    /// Whose contribution a datum is before it is reduced with others (not of vectors).
    int origin(std::uint32_t datum) const;

    /// Equal for data and places that are equally long whatever the call's counts are.
    std::uint32_t length_class(std::uint32_t datum) const;
    std::uint32_t length_class(int rank, const Place& place) const;

 private:
    std::uint32_t frame_datum(int rank, std::uint32_t chunk) const;
    std::uint32_t edge_datum(int rank, std::uint32_t block) const;
    std::uint32_t input_datum(int rank, std::uint32_t chunk) const;
    std::uint32_t output_datum(int rank, std::uint32_t chunk) const;
    void match_edges(std::span<const Neighbors> neighbors);

    std::span<const Schedule> world_;
    Collective collective_;
    std::uint32_t size_;
    std::uint32_t slices_;
    std::uint32_t widest_ = 1;                       ///< most targets of a rank
    std::vector<std::vector<std::uint32_t>> edges_;  ///< by rank and source: the datum's block
};

}  // namespace beeline::coll::plan
