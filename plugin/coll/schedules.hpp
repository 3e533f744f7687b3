// SPDX-License-Identifier: BSD-3-Clause
// What a communicator keeps for the collectives that Beeline's own schedules serve.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "coll/collective.hpp"
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

    /// A number for one operation, equal on all ranks, as they begin their operations in one order.
    std::uint32_t next_operation() noexcept { return next_operation_++; }

 private:
    enum class Able : unsigned char { kUnknown, kNo, kYes };
    Able able_ = Able::kUnknown;
    std::uint32_t next_operation_ = 0;
    std::unique_ptr<beeline::coll::Context> context_;
};

}  // namespace beeline::plugin::coll
