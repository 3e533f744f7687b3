// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives.
#include "plugin/pml/module.hpp"
#include "plugin/pml/request.hpp"

namespace beeline::plugin::pml {
namespace {

constexpr int kOwnPolls = 200;  // some 2 microseconds

int start_new(Request* request, ompi_request_t** handle) {
    const engine::Engine::Guard guard(engine());
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    const int outcome = start_request(request);
    if (outcome != OMPI_SUCCESS) {
        give_back(request);
        return outcome;
    }
    *handle = &request->super;
    return OMPI_SUCCESS;
}

/// Sends a small host message without a request; false when it needs one.
bool send_now(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination,
              int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator) {
    if (mode == MCA_PML_BASE_SEND_SYNCHRONOUS || mode == MCA_PML_BASE_SEND_BUFFERED) {
        return false;
    }
    const engine::Engine::Guard guard(engine());
    return engine().try_send(communicator_of(communicator), destination, tag,
                             describe(buffer, count, type));
}

}  // namespace

int irecv_init(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
               ompi_communicator_t* communicator, ompi_request_t** request) {
    *request = &take_request(true, false, buffer, count, type, source, tag,
                             MCA_PML_BASE_SEND_STANDARD, communicator)
                    ->super;
    return OMPI_SUCCESS;
}

int irecv(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
          ompi_communicator_t* communicator, ompi_request_t** request) {
    return start_new(take_request(false, false, buffer, count, type, source, tag,
                                  MCA_PML_BASE_SEND_STANDARD, communicator),
                     request);
}

int recv(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
         ompi_communicator_t* communicator, ompi_status_public_t* status) {
    ompi_request_t* request = nullptr;
    const int outcome = irecv(buffer, count, type, source, tag, communicator, &request);
    return outcome != OMPI_SUCCESS ? outcome : finish_blocking(request, status);
}

int isend_init(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination,
               int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
               ompi_request_t** request) {
    *request =
        &take_request(true, true, buffer, count, type, destination, tag, mode, communicator)->super;
    return OMPI_SUCCESS;
}

int isend(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination, int tag,
          mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
          ompi_request_t** request) {
    if (send_now(buffer, count, type, destination, tag, mode, communicator)) {
        *request = &ompi_request_empty;  // complete, and a send has no status to tell
        return OMPI_SUCCESS;
    }
    return start_new(
        take_request(false, true, buffer, count, type, destination, tag, mode, communicator),
        request);
}

int send(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination, int tag,
         mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator) {
    if (send_now(buffer, count, type, destination, tag, mode, communicator)) {
        return OMPI_SUCCESS;
    }
    ompi_request_t* request = nullptr;
    const int outcome = start_new(
        take_request(false, true, buffer, count, type, destination, tag, mode, communicator),
        &request);
    return outcome != OMPI_SUCCESS ? outcome : finish_blocking(request, nullptr);
}

int finish_blocking(ompi_request_t* request, ompi_status_public_t* status) {
    // A short message is about to arrive or will not for long: look for it without the detour
    // through everyone's progress functions, then wait as everybody does.
    for (int poll = 0; poll < kOwnPolls && !REQUEST_COMPLETE(request); ++poll) {
        const engine::Engine::Guard guard(engine());
        engine().progress();
    }
    ompi_request_wait_completion(request);
    const int outcome = request->req_status.MPI_ERROR;
    if (status != MPI_STATUS_IGNORE) {
        *status = request->req_status;
    }
    give_back(reinterpret_cast<Request*>(request));
    return outcome;
}

}  // namespace beeline::plugin::pml
