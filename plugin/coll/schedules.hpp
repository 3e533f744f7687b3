// SPDX-License-Identifier: BSD-3-Clause
// What a communicator keeps for the collectives that Beeline's own schedules serve.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "coll/collective.hpp"
#include "coll/exec/fused.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::coll {

/// Warns of the files of schedules that this process left out, once.
void warn_of_schedule_files() noexcept;

/// One for each communicator; its memory is made by the first call that needs it.
class Schedules {
 public:
    /// Whether schedules can serve this collective on this communicator: an intra-communicator with
    /// a GPU somewhere, or on which reductions must be reproducible, or for which a file brought a
    /// schedule, under Beeline's PML. All ranks come to the same answer.
    bool serves(ompi_communicator_t* comm, beeline::coll::plan::Collective collective) {
        if (able_ == Able::kUnknown) {
            able_ = find_out(comm);
        }
        return able_ == Able::kYes ||
               (able_ == Able::kSome && served_[static_cast<std::size_t>(collective)]);
    }

    /// The lock of all communicators' contexts: operations are begun, moved on and released under
    /// it, by whichever thread.
    static std::recursive_mutex& lock() noexcept;

    beeline::coll::Context& context() noexcept { return *context_; }

    /// The schedule for a call; remembered, and explained to whoever wants information.
    const beeline::coll::select::Choice& choose(const beeline::coll::select::Facts& facts);

    /// What decides the choices: the same on all ranks.
    const beeline::coll::select::Settings& settings() const noexcept { return settings_; }

    /// Leaves the context's memory to the end of the process.
    void abandon_context() noexcept { static_cast<void>(context_.release()); }

    /// What it keeps for collectives that one kernel runs.
    beeline::coll::exec::Fused& fused() noexcept { return *fused_; }
    /// Whether all ranks are known to be on one node.
    bool one_node() const noexcept { return one_node_; }

    /// A number for one operation, equal on all ranks, as they prepare their operations in one
    /// order. Persistent ones, which may live long, have numbers of their own.
    std::uint32_t next_operation(bool persistent) noexcept;

    /// The edges of a communicator with a topology, and the caller's block that each stands for:
    /// neighbours that are MPI_PROC_NULL have none.
    struct Neighbors {
        std::vector<beeline::coll::plan::Edge> sources;
        std::vector<beeline::coll::plan::Edge> targets;
        std::vector<int> source_blocks;
        std::vector<int> target_blocks;
    };
    /// Found at the first call. False when the communicator has no topology.
    bool neighbors_known(ompi_communicator_t* comm);
    const Neighbors& neighbors() const noexcept { return neighbors_; }

 private:
    enum class Able : unsigned char { kUnknown, kNo, kSome, kYes };
    Able find_out(ompi_communicator_t* comm);
    bool find_served();

    Able able_ = Able::kUnknown;
    std::array<bool, beeline::coll::plan::kCollectives> served_{};  ///< kSome: which collectives
    bool one_node_ = false;
    std::uint32_t operations_ = 0;
    std::uint32_t persistent_operations_ = 0;
    bool neighbors_known_ = false;
    Neighbors neighbors_;
    std::unique_ptr<beeline::coll::Context> context_;
    beeline::coll::select::Settings settings_;
    std::unique_ptr<beeline::coll::select::Choices> choices_;
    std::unique_ptr<beeline::coll::exec::Fused> fused_;
};

}  // namespace beeline::plugin::coll
