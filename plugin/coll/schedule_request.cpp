// SPDX-License-Identifier: BSD-3-Clause
// Requests whose schedules Open MPI's progress moves on.
#include "plugin/coll/schedule_request.hpp"

#include <atomic>
#include <new>

#include "plugin/guard.hpp"

namespace beeline::plugin::coll {
namespace {

using beeline::coll::exec::Patience;

// Under Schedules::lock(), but for the number, which tells at a glance that there is nothing to do.
constinit ScheduleRequest* under_way = nullptr;
constinit std::atomic<int> number_under_way = 0;
constinit bool in_progress = false;
constinit bool registered = false;

ompi_request_t* base(ScheduleRequest* request) noexcept {
    return &request->super.super;
}

ScheduleRequest* derived(ompi_request_t* request) noexcept {
    return reinterpret_cast<ScheduleRequest*>(request);
}

void destroy(ScheduleRequest* request) noexcept {
    OMPI_REQUEST_FINI(base(request));
    OBJ_RELEASE(request);
}

void complete(ScheduleRequest* request) noexcept {
    request->under_way = false;
    Status status = Status::kNoMemory;
    try {
        status = request->call.finish();
    } catch (const std::bad_alloc&) {
        // as said above
    }
    base(request)->req_status.MPI_ERROR = to_ompi(status);
    // The MPI layer gives back here what it holds for the request. The caller may free the request
    // as soon as it sees this.
    const bool let_go = request->let_go;
    ompi_request_complete(base(request), true);
    if (let_go) {
        destroy(request);
    }
}

/// Takes the request off the list whose link to it is at `place`.
ScheduleRequest* unlink(ScheduleRequest** place) noexcept {
    ScheduleRequest* request = *place;
    *place = request->next;
    request->next = nullptr;
    number_under_way.fetch_sub(1, std::memory_order_relaxed);
    return request;
}

/// Takes those off the list that are complete by now, in the order in which they were started.
ScheduleRequest* take_complete() noexcept {
    ScheduleRequest* done = nullptr;
    ScheduleRequest** end = &done;
    for (ScheduleRequest** place = &under_way; *place != nullptr;) {
        if ((*place)->call.advance(Patience::kReturn)) {
            *end = unlink(place);
            end = &(*end)->next;
        } else {
            place = &(*place)->next;
        }
    }
    return done;
}

int progress() {
    if (number_under_way.load(std::memory_order_relaxed) == 0) {
        return 0;  // called in every turn of every wait
    }
    const std::unique_lock lock(Schedules::lock(), std::try_to_lock);
    if (!lock.owns_lock() || in_progress || under_way == nullptr) {
        return 0;
    }
    in_progress = true;
    ScheduleRequest* done = take_complete();
    in_progress = false;
    int events = 0;
    while (done != nullptr) {
        ScheduleRequest* next = done->next;
        complete(done);
        done = next;
        ++events;
    }
    return events;
}

int free_request(ompi_request_t** handle) {
    ScheduleRequest* request = derived(*handle);
    *handle = MPI_REQUEST_NULL;
    const std::lock_guard lock(Schedules::lock());
    if (request->under_way) {
        request->let_go = true;
    } else {
        destroy(request);
    }
    return OMPI_SUCCESS;
}

int cancel_request(ompi_request_t*, int) {
    return OMPI_ERR_REQUEST;
}

int start_requests(std::size_t count, ompi_request_t** requests) {
    for (std::size_t i = 0; i < count; ++i) {
        if (const int outcome = start_schedule_request(derived(requests[i]));
            outcome != OMPI_SUCCESS) {
            return outcome;
        }
    }
    return OMPI_SUCCESS;
}

void construct(opal_object_t* object) noexcept {
    auto* request = reinterpret_cast<ScheduleRequest*>(object);
    new (&request->call) ScheduleCall;
    request->comm = nullptr;
    request->under_way = false;
    request->let_go = false;
    request->next = nullptr;
    base(request)->req_type = OMPI_REQUEST_COLL;
    base(request)->req_free = guarded<&free_request>;
    base(request)->req_cancel = guarded<&cancel_request>;
}

void destruct(opal_object_t* object) noexcept {
    auto* request = reinterpret_cast<ScheduleRequest*>(object);
    request->call.~ScheduleCall();
    if (ompi_communicator_t* comm = request->comm; comm != nullptr) {
        OBJ_RELEASE(comm);
    }
}

OBJ_CLASS_DECLARATION(ScheduleRequest);
BEELINE_OBJ_CLASS_INSTANCE(ScheduleRequest, ompi_coll_base_nbc_request_t, construct, destruct);

}  // namespace

ScheduleRequest* new_schedule_request(ompi_communicator_t* comm, bool persistent) noexcept {
    auto* request = OBJ_NEW(ScheduleRequest);
    if (request != nullptr) {
        ompi_request_t* outer = base(request);
        OMPI_REQUEST_INIT(outer, persistent);
        outer->req_mpi_object.comm = comm;
        // The caller may free the communicator while the operation is under way or persists.
        OBJ_RETAIN(comm);
        request->comm = comm;
        outer->req_start = guarded<&start_requests>;
        outer->req_status = ompi_status_empty;
    }
    return request;
}

void drop_schedule_request(ScheduleRequest* request) noexcept {
    destroy(request);
}

int start_schedule_request(ScheduleRequest* request) {
    const std::lock_guard lock(Schedules::lock());
    if (const Status status = request->call.begin(); status != Status::kOk) {
        return to_ompi(status);
    }
    ompi_request_t* outer = base(request);
    outer->req_status.MPI_ERROR = MPI_SUCCESS;
    outer->req_complete = REQUEST_PENDING;
    outer->req_state = OMPI_REQUEST_ACTIVE;
    if (!registered) {
        registered = opal_progress_register(guarded<&progress>) == OPAL_SUCCESS;
    }
    request->under_way = true;
    ScheduleRequest** end = &under_way;
    while (*end != nullptr) {
        end = &(*end)->next;
    }
    request->next = nullptr;
    *end = request;
    number_under_way.fetch_add(1, std::memory_order_relaxed);
    // What can start now does, so that it is under way while the caller computes. It is completed
    // by progress only, when the MPI layer has had its turn with the new request.
    if (!in_progress) {
        in_progress = true;
        request->call.advance(Patience::kReturn);
        in_progress = false;
    }
    return OMPI_SUCCESS;
}

bool forget_schedule_requests(const Schedules& schedules) noexcept {
    const std::lock_guard lock(Schedules::lock());
    bool any = false;
    for (ScheduleRequest** place = &under_way; *place != nullptr;) {
        if ((*place)->call.uses(schedules)) {
            unlink(place);
            any = true;
        } else {
            place = &(*place)->next;
        }
    }
    return any;
}

void stop_schedule_requests() noexcept {
    const std::lock_guard lock(Schedules::lock());
    if (registered) {
        opal_progress_unregister(guarded<&progress>);
        registered = false;
    }
}

}  // namespace beeline::plugin::coll
