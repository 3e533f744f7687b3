// SPDX-License-Identifier: BSD-3-Clause
// Life of a staged request: follow the inner one, copy back, complete.
#include "plugin/coll/request.hpp"

#include <mutex>
#include <new>

#include "plugin/guard.hpp"

namespace beeline::plugin::coll {
namespace {

// Requests freed from inside the completion of their inner request, which is still in use then.
constinit std::mutex parked_mutex;
constinit StagedRequest* parked = nullptr;

ompi_request_t* base(StagedRequest* request) noexcept {
    return &request->super.super;
}

StagedRequest* derived(ompi_request_t* request) noexcept {
    return reinterpret_cast<StagedRequest*>(request);
}

/// The results go back to the device, then the caller may look.
void finish(StagedRequest* request) {
    // An inner request that completes while its callback is being set may report twice.
    if (!request->running.exchange(false, std::memory_order_acq_rel)) {
        return;
    }
    ompi_request_t* outer = base(request);
    const ompi_status_public_t& result = request->inner->req_status;
    outer->req_status.MPI_SOURCE = result.MPI_SOURCE;
    outer->req_status.MPI_TAG = result.MPI_TAG;
    outer->req_status._ucount = result._ucount;
    outer->req_status._cancelled = result._cancelled;
    outer->req_status.MPI_ERROR = result.MPI_ERROR;
    if (result.MPI_ERROR == MPI_SUCCESS) {
        outer->req_status.MPI_ERROR = to_ompi(request->staged.deliver());
    }
    ompi_request_complete(outer, true);
}

int inner_complete(ompi_request_t* inner) {
    finish(static_cast<StagedRequest*>(inner->req_complete_cb_data));
    return 0;  // the inner request stays, its owner frees it
}

void destroy(StagedRequest* request) noexcept {
    if (request->inner != nullptr) {
        ompi_request_free(&request->inner);
    }
    OBJ_RELEASE(request);
}

/// Takes those off the list whose inner request is complete by now.
StagedRequest* take_parked() noexcept {
    const std::lock_guard lock(parked_mutex);
    StagedRequest* ready = nullptr;
    for (StagedRequest** place = &parked; *place != nullptr;) {
        StagedRequest* request = *place;
        if (is_complete(request->inner)) {
            *place = request->next;
            request->next = ready;
            ready = request;
        } else {
            place = &request->next;
        }
    }
    return ready;
}

int free_request(ompi_request_t** handle) {
    StagedRequest* request = derived(*handle);
    OMPI_REQUEST_FINI(base(request));
    *handle = MPI_REQUEST_NULL;
    reap_requests();
    if (request->inner != nullptr && !is_complete(request->inner)) {
        const std::lock_guard lock(parked_mutex);
        request->next = parked;
        parked = request;
    } else {
        destroy(request);
    }
    return OMPI_SUCCESS;
}

int cancel_request(ompi_request_t*, int) {
    return OMPI_ERR_REQUEST;
}

int start_one(StagedRequest* request) {
    if (const Status status = request->staged.fetch(); status != Status::kOk) {
        return to_ompi(status);
    }
    ompi_request_t* outer = base(request);
    ompi_request_t* inner = request->inner;
    outer->req_status.MPI_ERROR = MPI_SUCCESS;
    outer->req_complete = REQUEST_PENDING;
    outer->req_state = OMPI_REQUEST_ACTIVE;
    request->running.store(true, std::memory_order_release);
    if (inner->req_type == OMPI_REQUEST_NOOP) {  // nothing to do, and nothing to start
        finish(request);
        return OMPI_SUCCESS;
    }
    inner->req_state = OMPI_REQUEST_INACTIVE;  // nobody waits for it, so nobody else resets it
    inner->req_complete_cb_data = request;
    inner->req_complete_cb = guarded<&inner_complete>;
    const int outcome = inner->req_start(1, &inner);
    if (outcome != OMPI_SUCCESS) {
        inner->req_complete_cb = nullptr;
        request->running.store(false, std::memory_order_release);
        outer->req_complete = REQUEST_COMPLETED;
        outer->req_state = OMPI_REQUEST_INACTIVE;
    }
    return outcome;
}

int start_requests(std::size_t count, ompi_request_t** requests) {
    for (std::size_t i = 0; i < count; ++i) {
        if (const int outcome = start_one(derived(requests[i])); outcome != OMPI_SUCCESS) {
            return outcome;
        }
    }
    return OMPI_SUCCESS;
}

void construct(opal_object_t* object) noexcept {
    auto* request = reinterpret_cast<StagedRequest*>(object);
    new (&request->staged) StagedCall;
    request->inner = nullptr;
    new (&request->running) std::atomic<bool>(false);
    request->next = nullptr;
    base(request)->req_type = OMPI_REQUEST_COLL;
    base(request)->req_free = guarded<&free_request>;
    base(request)->req_cancel = guarded<&cancel_request>;
}

void destruct(opal_object_t* object) noexcept {
    reinterpret_cast<StagedRequest*>(object)->staged.~StagedCall();
}

OBJ_CLASS_DECLARATION(StagedRequest);
BEELINE_OBJ_CLASS_INSTANCE(StagedRequest, ompi_coll_base_nbc_request_t, construct, destruct);

}  // namespace

StagedRequest* new_request(ompi_communicator_t* comm, bool persistent) noexcept {
    auto* request = OBJ_NEW(StagedRequest);
    if (request != nullptr) {
        ompi_request_t* outer = base(request);
        OMPI_REQUEST_INIT(outer, persistent);
        outer->req_mpi_object.comm = comm;
        outer->req_start = guarded<&start_requests>;
        outer->req_status = ompi_status_empty;
    }
    return request;
}

void drop_request(StagedRequest* request) noexcept {
    OMPI_REQUEST_FINI(base(request));
    OBJ_RELEASE(request);
}

void follow(StagedRequest* request, ompi_request_t* inner) noexcept {
    request->inner = inner;
    base(request)->req_state = OMPI_REQUEST_ACTIVE;
    request->running.store(true, std::memory_order_release);
    if (is_complete(inner)) {
        // Also the shared request that stands for "nothing to do", which has no room for a
        // callback.
        detail::Guard<decltype(&finish), &finish>::call(request);
        return;
    }
    ompi_request_set_callback(inner, guarded<&inner_complete>, request);
}

void adopt(StagedRequest* request, ompi_request_t* inner) noexcept {
    request->inner = inner;
}

void reap_requests() noexcept {
    for (StagedRequest* ready = take_parked(); ready != nullptr;) {
        StagedRequest* next = ready->next;
        destroy(ready);
        ready = next;
    }
}

}  // namespace beeline::plugin::coll
