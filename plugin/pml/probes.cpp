// SPDX-License-Identifier: BSD-3-Clause
// Probes, matched probes and the receives that follow them.
#include "plugin/pml/module.hpp"
#include "plugin/pml/request.hpp"

namespace beeline::plugin::pml {
namespace {

void fill(const engine::Message& message, ompi_status_public_t* status) noexcept {
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    status->MPI_SOURCE = message.arrived.envelope.source;
    status->MPI_TAG = message.arrived.envelope.tag;
    status->MPI_ERROR = MPI_SUCCESS;
    status->_ucount = message.arrived.envelope.bytes;
    status->_cancelled = 0;
}

/// The matching message, looked for before and after one round of progress.
template <class Found>
bool look(int source, int tag, ompi_communicator_t* communicator, Found&& found) {
    for (int round = 0; round < 2; ++round) {
        {
            const engine::Engine::Guard guard(engine());
            engine::Communicator& in = communicator_of(communicator);
            if (engine::Message* message = engine().probe(in, source, engine_tag(tag))) {
                found(in, message);
                return true;
            }
        }
        if (round == 0) {
            opal_progress();
        }
    }
    return false;
}

}  // namespace

int iprobe(int source, int tag, ompi_communicator_t* communicator, int* matched,
           ompi_status_public_t* status) {
    *matched = look(source, tag, communicator,
                    [&](engine::Communicator&, engine::Message* found) { fill(*found, status); });
    return OMPI_SUCCESS;
}

int probe(int source, int tag, ompi_communicator_t* communicator, ompi_status_public_t* status) {
    int matched = 0;
    while (matched == 0) {
        iprobe(source, tag, communicator, &matched, status);
    }
    return OMPI_SUCCESS;
}

int improbe(int source, int tag, ompi_communicator_t* communicator, int* matched,
            ompi_message_t** message, ompi_status_public_t* status) {
    ompi_message_t* handle = ompi_message_alloc();
    if (handle == nullptr) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *matched =
        look(source, tag, communicator, [&](engine::Communicator& in, engine::Message* found) {
            engine().extract(in, found);
            fill(*found, status);
            handle->comm = communicator;
            handle->req_ptr = found;
            handle->peer = found->arrived.envelope.source;
            handle->count = found->arrived.envelope.bytes;
        });
    if (*matched != 0) {
        *message = handle;
    } else {
        ompi_message_return(handle);
    }
    return OMPI_SUCCESS;
}

int mprobe(int source, int tag, ompi_communicator_t* communicator, ompi_message_t** message,
           ompi_status_public_t* status) {
    int matched = 0;
    int outcome = OMPI_SUCCESS;
    while (matched == 0 && outcome == OMPI_SUCCESS) {
        outcome = improbe(source, tag, communicator, &matched, message, status);
    }
    return outcome;
}

int imrecv(void* buffer, std::size_t count, ompi_datatype_t* type, ompi_message_t** message,
           ompi_request_t** handle) {
    auto* found = static_cast<engine::Message*>((*message)->req_ptr);
    ompi_communicator_t* communicator = (*message)->comm;
    const engine::Engine::Guard guard(engine());
    Request* request =
        take_request(false, false, buffer, count, type, found->arrived.envelope.source,
                     found->arrived.envelope.tag, MCA_PML_BASE_SEND_STANDARD, communicator);
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    const Status status = engine().receive_matched(request->request, communicator_of(communicator),
                                                   found, describe(buffer, count, type));
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    *handle = &request->super;
    return mpi_error(status);
}

int mrecv(void* buffer, std::size_t count, ompi_datatype_t* type, ompi_message_t** message,
          ompi_status_public_t* status) {
    ompi_request_t* request = nullptr;
    const int outcome = imrecv(buffer, count, type, message, &request);
    return outcome != OMPI_SUCCESS ? outcome : finish_blocking(request, status);
}

int dump(ompi_communicator_t* communicator, int) {
    const engine::Engine::Guard guard(engine());
    engine::Communicator& in = communicator_of(communicator);
    opal_output(0, "beeline: communicator %u: %zu posted receives, %zu unexpected messages", in.id,
                in.matcher.posted_count(), in.matcher.unexpected_count());
    in.matcher.for_each_posted([](const match::Posted& posted) {
        opal_output(0, "beeline:   posted receive: source %d, tag %d", posted.source, posted.tag);
    });
    in.matcher.for_each_unexpected([](const match::Unexpected& message) {
        opal_output(0, "beeline:   unexpected message: source %d, tag %d", message.source,
                    message.tag);
    });
    return OMPI_SUCCESS;
}

}  // namespace beeline::plugin::pml
