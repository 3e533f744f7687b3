// SPDX-License-Identifier: BSD-3-Clause
// The request that the caller of a staged non-blocking or persistent collective holds. It stands
// before the previous module's request and completes once the results are back on the device.
#pragma once

#include <atomic>

#include "plugin/coll/staged_call.hpp"

namespace beeline::plugin::coll {

/// Open MPI's MPI layer keeps references to datatypes and operations in the base class, so it must
/// come first.
struct StagedRequest {
    ompi_coll_base_nbc_request_t super;
    StagedCall staged;
    ompi_request_t* inner;      ///< the previous module's; null until there is one
    std::atomic<bool> running;  ///< between the start and the first completion
    StagedRequest* next;        ///< in the list of those whose inner request isn't done with yet
};

/// A new request with room for host copies; null when there's no memory.
StagedRequest* new_request(ompi_communicator_t* comm, bool persistent) noexcept;

/// Gives back a request that was never handed out.
void drop_request(StagedRequest* request) noexcept;

/// Hands over the previous module's request, already under way; completes `request` at once when it
/// is complete.
void follow(StagedRequest* request, ompi_request_t* inner) noexcept;

/// Hands over the previous module's persistent request, not yet started.
void adopt(StagedRequest* request, ompi_request_t* inner) noexcept;

/// Frees the requests that were let go while their inner request was completing. For the end.
void reap_requests() noexcept;

}  // namespace beeline::plugin::coll
