// SPDX-License-Identifier: BSD-3-Clause
// The collective module: for each entry point, whom it wraps.
#pragma once

#include <atomic>

#include "plugin/coll/handed.hpp"
#include "plugin/coll/schedule_call.hpp"
#include "plugin/coll/schedules.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::coll {

/// One for each communicator. The previous module of each entry point is kept with a reference.
struct Module {
    mca_coll_base_module_t super;  // first: the parent class
#define BEELINE_ENTRY(name, family, form)               \
    decltype(mca_coll_base_module_t::coll_##name) name; \
    mca_coll_base_module_t* name##_owner;
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
    Schedules schedules;
    HandedOver handed;
    ScheduleCall blocking;  ///< of the blocking calls, which follow one another
    /// A previous module serves a call: what it calls on the way is on host memory of its own, or
    /// on what was looked at. Open MPI calls from the thread that makes progress just then when it
    /// numbers a new communicator, one at a time.
    std::atomic<bool> inside = false;
};

/// A new module, not yet enabled; null when there's no memory.
mca_coll_base_module_t* new_module() noexcept;

}  // namespace beeline::plugin::coll
