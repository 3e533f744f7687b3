// SPDX-License-Identifier: BSD-3-Clause
// The life of an MPI request: from the free list, through the engine, and back.
#include "plugin/pml/request.hpp"

#include <new>

#include "plugin/guard.hpp"
#include "plugin/pml/module.hpp"

namespace beeline::plugin::pml {

constinit Request* spare = nullptr;

namespace {

constinit opal_free_list_t requests = {};
constinit bool prepared = false;

Request* from(ompi_request_t* request) noexcept {
    return reinterpret_cast<Request*>(request);
}

int free_request(ompi_request_t** handle) {
    Request* request = from(*handle);
    const engine::Engine::Guard guard(engine());
    if (request->super.req_state == OMPI_REQUEST_ACTIVE && !is_complete(&request->super)) {
        request->freed = true;  // given back when it is done
    } else {
        give_back(request);
    }
    *handle = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

int cancel_request(ompi_request_t* handle, int) {
    Request* request = from(handle);
    const engine::Engine::Guard guard(engine());
    if (!request->is_send && handle->req_state == OMPI_REQUEST_ACTIVE && !is_complete(handle)) {
        engine().cancel(request->request);
    }
    return OMPI_SUCCESS;  // a send is not cancelled: it completes, as MPI allows
}

void done(engine::Request* engine_request) {
    auto* request = static_cast<Request*>(engine_request->owner);
    const engine::Outcome& outcome = engine_request->outcome;
    if (request->bsend_segment != nullptr) {
        mca_pml_base_bsend_request_free(request->bsend_segment);
        request->bsend_segment = nullptr;
    }
    ompi_status_public_t& status = request->super.req_status;
    status.MPI_SOURCE = request->is_send ? ompi_comm_rank(request->communicator) : outcome.source;
    status.MPI_TAG = request->is_send ? request->tag : outcome.tag;
    status.MPI_ERROR = mpi_error(outcome.status);
    status._ucount = outcome.bytes;
    status._cancelled = outcome.cancelled ? 1 : 0;
    if (request->freed) {
        request->super.req_complete = REQUEST_COMPLETED;
        give_back(request);
        return;
    }
    ompi_request_complete(&request->super, true);
}

void construct(opal_object_t* object) noexcept {
    auto* request = reinterpret_cast<Request*>(object);
    request->super.req_type = OMPI_REQUEST_PML;
    request->super.req_free = guarded<&free_request>;
    request->super.req_cancel = guarded<&cancel_request>;
    request->super.req_start = guarded<&start>;
    new (&request->request) engine::Request;
    request->request.done = done;
    request->request.owner = request;
    request->type = nullptr;
    request->communicator = nullptr;
    request->bsend_segment = nullptr;
    request->freed = false;
}

void destruct(opal_object_t* object) noexcept {
    auto* request = reinterpret_cast<Request*>(object);
    request->request.~Request();
}

using RequestObject = Request;
BEELINE_OBJ_CLASS_INSTANCE(RequestObject, ompi_request_t, construct, destruct);

}  // namespace

int prepare_requests() {
    OBJ_CONSTRUCT(&requests, opal_free_list_t);
    prepared = true;
    return opal_free_list_init(&requests, sizeof(Request), opal_cache_line_size,
                               &RequestObject_class, 0, opal_cache_line_size, 128, -1, 128, nullptr,
                               0, nullptr, nullptr, nullptr);
}

void release_requests() {
    while (Request* request = spare) {
        spare = request->next_spare;
        opal_free_list_return(&requests, &request->super.super);
    }
    if (prepared) {
        OBJ_DESTRUCT(&requests);
        prepared = false;
    }
}

Request* new_request() {
    auto* request = reinterpret_cast<Request*>(opal_free_list_get(&requests));
    if (request == nullptr) {
        throw std::bad_alloc();
    }
    return request;
}

void give_back(Request* request) {
    OMPI_DATATYPE_RELEASE(request->type);
    request->type = nullptr;
    ompi_communicator_t* communicator = request->communicator;
    request->communicator = nullptr;
    OMPI_REQUEST_FINI(&request->super);
    request->super.req_state = OMPI_REQUEST_INVALID;
    request->next_spare = spare;
    spare = request;
    OBJ_RELEASE(communicator);
}

void complete_empty(Request* request) {
    request->super.req_status._ucount = 0;
    request->super.req_status.MPI_SOURCE = ompi_comm_rank(request->communicator);
    request->super.req_status.MPI_TAG = request->tag;
    ompi_request_complete(&request->super, true);
}

int mpi_error(Status status) noexcept {
    switch (status) {
        case Status::kOk:
            return MPI_SUCCESS;
        case Status::kTruncated:
            return MPI_ERR_TRUNCATE;
        case Status::kNoMemory:
            return MPI_ERR_NO_MEM;
        case Status::kInvalid:
            return MPI_ERR_ARG;
        case Status::kUnsupported:
            return MPI_ERR_UNSUPPORTED_OPERATION;
        case Status::kRetry:
        case Status::kNotFound:
        case Status::kUnreachable:
        case Status::kDriver:
        case Status::kIo:
        case Status::kCanceled:
            return MPI_ERR_OTHER;
    }
    return MPI_ERR_OTHER;
}

engine::Buffer describe_layout(const void* buffer, std::size_t count, ompi_datatype_t* type) {
    engine::Buffer description;
    description.bytes = type->super.size * count;
    if (description.bytes != 0) {
        description.address = const_cast<void*>(buffer);
        description.count = count;
        description.layout = layout_of(type);
    }
    return description;
}

namespace {

/// A buffered send: the data is copied into the attached buffer, and a request of our own sends it
/// from there.
int start_buffered(Request* request) {
    const std::size_t bytes = request->type->super.size * request->count;
    void* segment = nullptr;
    if (bytes != 0) {
        segment = mca_pml_base_bsend_request_alloc_buf(bytes);
        if (segment == nullptr) {
            return OMPI_ERR_BUFFER;
        }
        const engine::Buffer source = describe(request->buffer, request->count, request->type);
        const datatype::Layout plain = datatype::byte_layout(bytes);
        const bool packed = source.layout != nullptr;
        const auto* first = static_cast<const std::byte*>(source.address) +
                            (packed ? source.layout->first_offset() : 0);
        const Status copied =
            memory::pack(packed ? *source.layout : plain, packed ? source.count : 1, source.address,
                         memory::classify(first), 0, segment, bytes);
        if (copied != Status::kOk) {
            mca_pml_base_bsend_request_free(segment);
            return mpi_error(copied);
        }
    }
    Request* carrier =
        take_request(false, true, segment, bytes, &ompi_mpi_byte.dt, request->peer, request->tag,
                     MCA_PML_BASE_SEND_STANDARD, request->communicator);
    carrier->super.req_state = OMPI_REQUEST_ACTIVE;
    carrier->bsend_segment = segment;
    carrier->freed = true;  // nobody else holds it
    const int outcome = start_request(carrier);
    if (outcome != OMPI_SUCCESS) {
        if (segment != nullptr) {
            mca_pml_base_bsend_request_free(segment);
            carrier->bsend_segment = nullptr;
        }
        give_back(carrier);
        return outcome;
    }
    complete_empty(request);
    return OMPI_SUCCESS;
}

}  // namespace

int start_request(Request* request, const memory::Pointer* where) {
    if (request->is_send && request->mode == MCA_PML_BASE_SEND_BUFFERED) {
        return start_buffered(request);
    }
    engine::Communicator& communicator = communicator_of(request->communicator);
    const engine::Buffer buffer = describe(request->buffer, request->count, request->type);
    Status status = Status::kOk;
    if (request->is_send) {
        const auto mode = request->mode == MCA_PML_BASE_SEND_SYNCHRONOUS
                              ? engine::SendMode::kSynchronous
                              : engine::SendMode::kStandard;
        status = engine().send(request->request, communicator, request->peer, request->tag, buffer,
                               mode, where);
    } else {
        status = engine().receive(request->request, communicator, request->peer,
                                  engine_tag(request->tag), buffer);
    }
    return mpi_error(status);
}

int start(std::size_t count, ompi_request_t** handles) {
    const engine::Engine::Guard guard(engine());
    for (std::size_t i = 0; i < count; ++i) {
        ompi_request_t* handle = handles[i];
        if (handle == nullptr || handle->req_type != OMPI_REQUEST_PML) {
            continue;
        }
        handle->req_complete = REQUEST_PENDING;
        handle->req_state = OMPI_REQUEST_ACTIVE;
        handle->req_status.MPI_ERROR = MPI_SUCCESS;
        handle->req_status._cancelled = 0;
        if (const int outcome = start_request(from(handle)); outcome != OMPI_SUCCESS) {
            return outcome;
        }
    }
    return OMPI_SUCCESS;
}

}  // namespace beeline::plugin::pml
