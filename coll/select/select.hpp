// SPDX-License-Identifier: BSD-3-Clause
// Which schedule a collective runs, from facts that are equal on all ranks.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "coll/plan/algorithm.hpp"
#include "coll/select/tuning.hpp"
#include "config/config.hpp"

namespace beeline::coll::select {

/// The facts. Every rank of the communicator must come to the same ones.
struct Facts {
    /// Collective, size, root, commutativity, cut and nodes; rank, in_place and the edges are not
    /// looked at.
    plan::Request request;
    /// Of the vector, or of one block (the mean where blocks vary).
    double bytes = 0;
    /// False where no rank knows the sizes of all (gatherv, alltoallv ...): `bytes` is not read.
    bool bytes_known = true;
};

struct Choice {
    const plan::Algorithm* algorithm = nullptr;  ///< null: the previous module, on host copies
    int slices = 1;           ///< pieces of a block, for algorithms that pipeline
    const char* reason = "";  ///< why, for people; never null
    int line = 0;             ///< of the rule that decided; 0: none did
};

/// The parameter of each collective, in the order of the collectives.
inline constexpr int config::Params::*kParameters[plan::kCollectives] = {
    &config::Params::coll_allreduce_algorithm,
    &config::Params::coll_bcast_algorithm,
    &config::Params::coll_reduce_algorithm,
    &config::Params::coll_allgather_algorithm,
    &config::Params::coll_reduce_scatter_algorithm,
    &config::Params::coll_alltoall_algorithm,
    &config::Params::coll_gather_algorithm,
    &config::Params::coll_scatter_algorithm,
    &config::Params::coll_scan_algorithm,
    &config::Params::coll_exscan_algorithm,
    &config::Params::coll_barrier_algorithm,
    &config::Params::coll_neighbor_allgather_algorithm,
    &config::Params::coll_neighbor_alltoall_algorithm,
};

/// The index, among the parameter's words, of the one in force.
inline int wanted_index(plan::Collective collective, const config::Params& params) noexcept {
    return params.*kParameters[static_cast<int>(collective)];
}

/// The word of coll_<collective>_algorithm in force: "auto", "staged" or an algorithm's name.
std::string_view wanted(plan::Collective collective, const config::Params& params) noexcept;

/// Why coll_<collective>_algorithm cannot be `word`: it names no algorithm, built in or loaded.
/// Empty when it can.
std::string refuse_word(plan::Collective collective, std::string_view word, const Tuning& tuning);

/// In this order: the algorithm that coll_<collective>_algorithm names, the first loaded one that
/// claims the size and that no rule names, the first rule of the tuning file that fits, the
/// cheapest by the cost model, host copies included. What cannot serve the call is passed over.
Choice choose(const Facts& facts, const Settings& settings) noexcept;

/// One algorithm as a choice sees it.
struct Candidate {
    const plan::Algorithm* algorithm = nullptr;  ///< null: the previous module, on host copies
    const char* refusal = nullptr;               ///< why it cannot serve the call; null: it can
    int slices = 1;                              ///< the model's best
    plan::Cost cost;
    double seconds = 0;  ///< predicted
};

/// All algorithms of the collective, in the order of the table, and host copies.
std::vector<Candidate> candidates(const Facts& facts, const Settings& settings);

/// The candidates and the choice as lines for people.
std::string explain(const Facts& facts, const Settings& settings);

/// The choices made on one communicator, whose size and nodes do not change.
class Choices {
 public:
    /// As select::choose(), remembered.
    const Choice& choose(const Facts& facts, const Settings& settings) noexcept {
        const Key key = key_of(facts, settings);
        Kept& kept = kept_[slot_of(key)];
        if (!kept.used || !(kept.key == key)) {
            kept = {true, key, select::choose(facts, settings)};
            fresh_ = true;
        } else {
            fresh_ = false;
        }
        return kept.choice;
    }

    /// Whether the last choice was not a remembered one.
    bool fresh() const noexcept { return fresh_; }

 private:
    struct Key {
        double bytes = 0;
        int root = 0;
        int word = 0;  ///< of the parameter, which tools may change between calls
        plan::Collective collective{};
        plan::Cut cut{};
        bool commutative = true;
        bool in_place = false;
        bool operator==(const Key&) const noexcept = default;
    };
    struct Kept {
        bool used = false;
        Key key;
        Choice choice;
    };
    static constexpr std::size_t kKept = 64;

    static Key key_of(const Facts& facts, const Settings& settings) noexcept {
        const plan::Request& request = facts.request;
        return {facts.bytes_known ? facts.bytes : -1,
                request.root,
                wanted_index(request.collective, *settings.params),
                request.collective,
                request.cut,
                request.commutative,
                request.in_place};
    }
    static std::size_t slot_of(const Key& key) noexcept {
        const auto word = static_cast<std::uint64_t>(static_cast<std::int64_t>(key.bytes)) ^
                          static_cast<std::uint64_t>(key.collective) << 40 ^
                          static_cast<std::uint64_t>(key.root) << 48;
        return (word * 0x9e3779b97f4a7c15ULL) >> 58;
    }

    std::array<Kept, kKept> kept_;
    bool fresh_ = false;
};

}  // namespace beeline::coll::select
