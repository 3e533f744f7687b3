// SPDX-License-Identifier: BSD-3-Clause
// The request of a non-blocking or persistent collective that a schedule serves.
#pragma once

#include "plugin/coll/schedule_call.hpp"

namespace beeline::plugin::coll {

/// Open MPI's MPI layer keeps references to datatypes and operations in the base class, so it must
/// come first.
struct ScheduleRequest {
    ompi_coll_base_nbc_request_t super;
    ScheduleCall call;
    ompi_communicator_t* comm;  ///< retained
    bool under_way;             ///< in the list of those that progress moves on
    bool let_go;                ///< freed by the caller while under way
    ScheduleRequest* next;      ///< in that list
};

/// A new request; null when there's no memory.
ScheduleRequest* new_schedule_request(ompi_communicator_t* comm, bool persistent) noexcept;

/// Gives back a request that was never handed out.
void drop_schedule_request(ScheduleRequest* request) noexcept;

/// Starts the prepared call; Open MPI's progress then moves it on. After a failure nothing is under
/// way.
int start_schedule_request(ScheduleRequest* request);

/// Progress lets go of this component. For the end.
void stop_schedule_requests() noexcept;

}  // namespace beeline::plugin::coll
