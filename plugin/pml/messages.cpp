// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives.
#include <sched.h>

#include <atomic>
#include <optional>

#include "plugin/pml/module.hpp"
#include "plugin/pml/request.hpp"

namespace beeline::plugin::pml {
namespace {

/// Polls before a blocking call waits as everybody does: some 2 microseconds, also where threads
/// that wait give up the processor. A partner that runs answers sooner than that, and to stay
/// beside it is worth more than the turn of another thread. A process of one thread that is to give
/// up the processor does so at once: there, whoever is to answer may need it.
constexpr int kOwnPolls = 400;
constexpr int kYieldingPolls = 4;
constexpr int kCardPolls = 250;        // the same where a card may bring it meanwhile
constexpr int kCardPollsPerTurn = 64;  // and between two turns of others after that
constexpr int kProgressEvery = 8;      // polls
constexpr int kPatience = 100;         // turns of everyone's progress before threads yield

int start_new(Request* request, ompi_request_t** handle, const memory::Pointer* where = nullptr) {
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    const int outcome = start_request(request, where);
    if (outcome != OMPI_SUCCESS) {
        give_back(request);
        return outcome;
    }
    *handle = &request->super;
    return OMPI_SUCCESS;
}

/// Sends a small host message without a request, or else makes one, which is then in `handle`.
int send_or_start(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination,
                  int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
                  ompi_request_t** handle) {
    const engine::Engine::Guard guard(engine());
    std::ptrdiff_t offset = 0;
    std::optional<memory::Pointer> where;
    if (mode != MCA_PML_BASE_SEND_SYNCHRONOUS && mode != MCA_PML_BASE_SEND_BUFFERED &&
        is_contiguous(type, count, offset) &&
        engine().try_send(communicator_of(communicator), destination, tag,
                          static_cast<const std::byte*>(buffer) + offset, type->super.size * count,
                          where)) {
        return OMPI_SUCCESS;
    }
    return start_new(
        take_request(false, true, buffer, count, type, destination, tag, mode, communicator),
        handle, where ? &*where : nullptr);
}

/// A receive that its caller waits for: nobody else ever sees its request. Threads that wait so
/// take turns at the engine; Open MPI's own way, which lets one of them make progress and wakes the
/// others, costs two switches of context for each message.
struct Alone {
    engine::Request request;
    std::atomic<bool> complete = false;
    Alone* next = nullptr;
};
constinit Alone* spare_alone = nullptr;  // under the engine's lock

Alone* take_alone() {
    Alone* alone = spare_alone;
    if (alone != nullptr) {
        spare_alone = alone->next;
        alone->complete.store(false, std::memory_order_relaxed);
        return alone;
    }
    alone = new Alone;
    alone->request.owner = alone;
    alone->request.done = [](engine::Request* request) {
        static_cast<Alone*>(request->owner)->complete.store(true, std::memory_order_release);
    };
    return alone;
}

void give_back(Alone* alone) {
    alone->next = spare_alone;
    spare_alone = alone;
}

/// Whether a process of one thread that waits gives up the processor.
bool yields() noexcept {
    return opal_progress_yield_when_idle && !engine().threads;
}

/// Looks for a short message that is about to arrive, without the detour through everyone's
/// progress functions.
template <class Complete>
void poll_for(Complete&& complete) {
    const int polls = !yields() ? kOwnPolls : engine().by_rdma() ? kCardPolls : kYieldingPolls;
    for (int poll = 1; poll <= polls && !complete(); ++poll) {
        const engine::Engine::Guard guard(engine());
        if (poll % kProgressEvery == 0) {
            engine().progress();
        } else {
            engine().poll();
        }
    }
}

void await(const Alone& alone) {
    const auto complete = [&alone] { return alone.complete.load(std::memory_order_acquire); };
    poll_for(complete);
    for (int round = 0; !complete(); ++round) {
        if (yields() && round % kProgressEvery != 0) {
            // A card brings a message without anyone's processor, so a turn of others can wait.
            const int polls = engine().by_rdma() ? kCardPollsPerTurn : 1;
            for (int poll = 0; poll < polls && !complete(); ++poll) {
                const engine::Engine::Guard guard(engine());
                engine().poll();
            }
            if (!complete()) {
                sched_yield();
            }
            continue;
        }
        opal_progress();
        if (engine().threads && round >= kPatience) {
            sched_yield();  // more threads may wait than there are processors
        }
    }
}

}  // namespace

int recv(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
         ompi_communicator_t* communicator, ompi_status_public_t* status) {
    Alone* alone = nullptr;
    {
        const engine::Engine::Guard guard(engine());
        const engine::Buffer into = describe(buffer, count, type);
        alone = take_alone();
        const Status started = engine().receive(alone->request, communicator_of(communicator),
                                                source, engine_tag(tag), into);
        if (started != Status::kOk) {
            give_back(alone);
            return mpi_error(started);
        }
    }
    await(*alone);
    const engine::Outcome outcome = alone->request.outcome;
    {
        const engine::Engine::Guard guard(engine());
        give_back(alone);
    }
    const int error = mpi_error(outcome.status);
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = outcome.source;
        status->MPI_TAG = outcome.tag;
        status->MPI_ERROR = error;
        status->_ucount = outcome.bytes;
        status->_cancelled = 0;
    }
    return error;
}

void release_alone() {
    while (Alone* alone = spare_alone) {
        spare_alone = alone->next;
        delete alone;
    }
}

int irecv_init(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
               ompi_communicator_t* communicator, ompi_request_t** request) {
    const engine::Engine::Guard guard(engine());
    *request = &take_request(true, false, buffer, count, type, source, tag,
                             MCA_PML_BASE_SEND_STANDARD, communicator)
                    ->super;
    return OMPI_SUCCESS;
}

int irecv(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
          ompi_communicator_t* communicator, ompi_request_t** request) {
    const engine::Engine::Guard guard(engine());
    const engine::Buffer into = describe(buffer, count, type);
    Request* taken = take_request(false, false, buffer, count, type, source, tag,
                                  MCA_PML_BASE_SEND_STANDARD, communicator);
    taken->super.req_state = OMPI_REQUEST_ACTIVE;
    *request = &taken->super;
    return mpi_error(engine().receive(taken->request, communicator_of(communicator), source,
                                      engine_tag(tag), into));
}

int isend_init(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination,
               int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
               ompi_request_t** request) {
    const engine::Engine::Guard guard(engine());
    *request =
        &take_request(true, true, buffer, count, type, destination, tag, mode, communicator)->super;
    return OMPI_SUCCESS;
}

int isend(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination, int tag,
          mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
          ompi_request_t** request) {
    *request = &ompi_request_empty;  // complete, and a send has no status to tell
    return send_or_start(buffer, count, type, destination, tag, mode, communicator, request);
}

int send(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination, int tag,
         mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator) {
    ompi_request_t* request = nullptr;
    const int outcome =
        send_or_start(buffer, count, type, destination, tag, mode, communicator, &request);
    return outcome != OMPI_SUCCESS || request == nullptr ? outcome
                                                         : finish_blocking(request, nullptr);
}

int finish_blocking(ompi_request_t* request, ompi_status_public_t* status) {
    poll_for([request] { return is_complete(request); });
    ompi_request_wait_completion(request);
    const engine::Engine::Guard guard(engine());  // under which another thread may have ended it
    const int outcome = request->req_status.MPI_ERROR;
    if (status != MPI_STATUS_IGNORE) {
        *status = request->req_status;
    }
    give_back(reinterpret_cast<Request*>(request));
    return outcome;
}

}  // namespace beeline::plugin::pml
