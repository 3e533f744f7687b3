// SPDX-License-Identifier: BSD-3-Clause
// Schedule messages over MCA_PML_CALL.
#include "plugin/coll/transport.hpp"

#include "plugin/pml/request.hpp"

namespace beeline::plugin::coll {
namespace {

using beeline::coll::exec::Handle;

// The far end of the tags that Open MPI leaves to collective components: operations count from
// there, each with tags for its channels.
constexpr int kFirstTag = MCA_COLL_BASE_TAG_HCOLL_END;
constexpr int kChannels = 256;
static_assert(kFirstTag + static_cast<long>(PmlTransport::kOperations) * kChannels <
              MCA_COLL_BASE_TAG_HCOLL_BASE);

Result<Handle> started(int outcome, ompi_request_t* request) noexcept {
    if (outcome != OMPI_SUCCESS) {
        return outcome == OMPI_ERR_OUT_OF_RESOURCE ? Status::kNoMemory : Status::kIo;
    }
    return static_cast<Handle>(request);
}

/// Waits for a request and forgets it. A message that is too short comes from a rank that failed.
Status end(ompi_request_t* request) noexcept {
    if (request == &ompi_request_empty) {
        return Status::kOk;  // a small message that was sent at once
    }
    const auto* ours = reinterpret_cast<const pml::Request*>(request);
    const bool receives = !ours->is_send;
    const std::size_t bytes = ours->count;
    MPI_Status status;
    if (ompi_request_wait(&request, &status) != OMPI_SUCCESS) {
        return Status::kIo;
    }
    return receives && status._ucount != bytes ? Status::kIo : Status::kOk;
}

}  // namespace

PmlTransport::PmlTransport(ompi_communicator_t* comm, std::uint32_t operation) noexcept
    : comm_(comm), first_tag_(kFirstTag + static_cast<int>(operation) * kChannels) {}

Result<Handle> PmlTransport::send(const void* address, std::size_t bytes, int peer,
                                  int channel) noexcept {
    ompi_request_t* request = nullptr;
    const int outcome = MCA_PML_CALL(isend(address, bytes, MPI_BYTE, peer, first_tag_ + channel,
                                           MCA_PML_BASE_SEND_STANDARD, comm_, &request));
    return started(outcome, request);
}

Result<Handle> PmlTransport::receive(void* address, std::size_t bytes, int peer,
                                     int channel) noexcept {
    ompi_request_t* request = nullptr;
    const int outcome =
        MCA_PML_CALL(irecv(address, bytes, MPI_BYTE, peer, first_tag_ + channel, comm_, &request));
    return started(outcome, request);
}

Status PmlTransport::wait(std::span<Handle> handles) noexcept {
    Status first = Status::kOk;
    for (Handle& handle : handles) {
        const Status outcome = end(static_cast<ompi_request_t*>(handle));
        first = first == Status::kOk ? outcome : first;
        handle = nullptr;
    }
    return first;
}

bool PmlTransport::test(Handle handle, Status& outcome) noexcept {
    auto* request = static_cast<ompi_request_t*>(handle);
    // As is_complete(), but ordered: another thread may complete it.
    if (__atomic_load_n(&request->req_complete, __ATOMIC_ACQUIRE) != REQUEST_COMPLETED) {
        return false;
    }
    outcome = end(request);
    return true;
}

}  // namespace beeline::plugin::coll
