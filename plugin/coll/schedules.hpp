// SPDX-License-Identifier: BSD-3-Clause
// What a communicator keeps for the collectives that Beeline's own schedules serve.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "coll/collective.hpp"
#include "coll/exec/fused.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::coll {

/// One for each communicator; its memory is made by the first call that needs it.
class Schedules {
 public:
    /// Whether schedules can serve this communicator: an intra-communicator of several ranks with a
    /// GPU somewhere, under Beeline's PML. All ranks come to the same answer.
    bool serves(ompi_communicator_t* comm);

    /// The lock of all communicators' contexts: operations are begun, moved on and released under
    /// it, by whichever thread.
    static std::recursive_mutex& lock() noexcept;

    beeline::coll::Context& context() noexcept { return *context_; }

    /// What it keeps for collectives that one kernel runs.
    beeline::coll::exec::Fused& fused() noexcept { return *fused_; }
    /// Whether all ranks are known to be on one node.
    bool one_node() const noexcept { return one_node_; }

    /// A number for one operation, equal on all ranks, as they begin their operations in one order.
    std::uint32_t next_operation() noexcept { return next_operation_++; }

 private:
    enum class Able : unsigned char { kUnknown, kNo, kYes };
    Able able_ = Able::kUnknown;
    std::uint32_t next_operation_ = 0;
    bool one_node_ = false;
    std::unique_ptr<beeline::coll::Context> context_;
    std::unique_ptr<beeline::coll::exec::Fused> fused_;
};

}  // namespace beeline::plugin::coll
