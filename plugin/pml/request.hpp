// SPDX-License-Identifier: BSD-3-Clause
// An MPI request of this PML: Open MPI's part first, the engine's behind it.
#pragma once

#include "engine/engine.hpp"
#include "plugin/compat/ompi.hpp"
#include "plugin/types.hpp"

namespace beeline::plugin::pml {

struct Request {
    ompi_request_t super;     ///< first: Open MPI sees only this
    engine::Request request;  ///< its owner is this object
    void* buffer;             ///< as the caller gave it; persistent requests start from it again
    std::size_t count;
    ompi_datatype_t* type;  ///< retained; null when this request holds nothing
    ompi_communicator_t* communicator;
    int peer;
    int tag;
    mca_pml_base_send_mode_t mode;
    bool is_send;
    bool freed;           ///< the caller let go of it before it was done
    void* bsend_segment;  ///< part of the user's attached buffer; given back when sent
    Request* next_spare;
};

/// Requests given back and not taken again, the youngest first, under the engine's lock.
extern constinit Request* spare;

/// Prepares the free list; once, before the first take.
int prepare_requests();
void release_requests();

/// A request that was never taken before. Throws std::bad_alloc.
Request* new_request();

/// A request in the state MPI expects at its start (inactive when persistent, else active). Under
/// the engine's lock, as give_back(). Throws std::bad_alloc.
inline Request* take_request(bool persistent, bool is_send, const void* buffer, std::size_t count,
                             ompi_datatype_t* type, int peer, int tag,
                             mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator) {
    Request* request = spare;
    if (request != nullptr) {
        spare = request->next_spare;
    } else {
        request = new_request();
    }
    OMPI_REQUEST_INIT(&request->super, persistent);
    request->super.req_mpi_object.comm = communicator;
    request->buffer = const_cast<void*>(buffer);
    request->count = count;
    request->type = type;
    request->peer = peer;
    request->tag = tag;
    request->mode = mode;
    request->is_send = is_send;
    request->freed = false;
    request->communicator = communicator;
    request->super.req_status.MPI_ERROR = MPI_SUCCESS;
    request->super.req_status._cancelled = 0;
    OMPI_DATATYPE_RETAIN(type);
    OBJ_RETAIN(communicator);
    return request;
}

/// Gives a request back; it must not be under way.
void give_back(Request* request);

/// Completes a request that carries no message (a buffered send whose data was copied).
void complete_empty(Request* request);

/// MPI's error class for the engine's status.
int mpi_error(Status status) noexcept;

/// The engine's idea of MPI's wildcards.
inline int engine_tag(int tag) noexcept {
    return tag == MPI_ANY_TAG ? match::kAnyTag : tag;
}
static_assert(MPI_ANY_SOURCE == match::kAnySource);

/// The buffer of a message whose elements are not one gapless run. Throws std::bad_alloc.
engine::Buffer describe_layout(const void* buffer, std::size_t count, ompi_datatype_t* type);

/// The buffer of a message. Throws std::bad_alloc.
inline engine::Buffer describe(const void* buffer, std::size_t count, ompi_datatype_t* type) {
    std::ptrdiff_t offset = 0;
    if (!is_contiguous(type, count, offset)) {
        return describe_layout(buffer, count, type);
    }
    engine::Buffer description;
    description.bytes = type->super.size * count;
    if (description.bytes != 0) {
        description.address = static_cast<std::byte*>(const_cast<void*>(buffer)) + offset;
    }
    return description;
}

/// Starts (or starts again) the message of a request. `where` as for Engine::send.
int start_request(Request* request, const memory::Pointer* where = nullptr);

/// MPI_Start and MPI_Startall.
int start(std::size_t count, ompi_request_t** requests);

}  // namespace beeline::plugin::pml
