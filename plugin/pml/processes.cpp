// SPDX-License-Identifier: BSD-3-Clause
// Processes and communicators: from Open MPI's to the engine's.
#include <chrono>

#include "base/log.hpp"
#include "plugin/pml/module.hpp"

namespace beeline::plugin::pml {
namespace {

// How long MPI_Finalize waits for control messages that a peer has no room for.
constexpr std::chrono::seconds kDrainLimit{10};

engine::Peer* resolve(void* self_communicator, int rank) {
    auto* process =
        ompi_comm_peer_lookup(static_cast<ompi_communicator_t*>(self_communicator), rank);
    if (process == nullptr) {
        return nullptr;
    }
    void*& endpoint = process->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
    if (endpoint == nullptr) {
        std::uint8_t* bytes = nullptr;
        std::size_t size = 0;
        int outcome = OMPI_SUCCESS;
        OPAL_MODEX_RECV(outcome, self(), &process->super.proc_name, &bytes, &size);
        if (outcome != OMPI_SUCCESS) {
            log(LogLevel::kError,
                "rank %d has published no address of Beeline: is it installed on all nodes?", rank);
            return nullptr;
        }
        endpoint = engine().add_peer({reinterpret_cast<const std::byte*>(bytes), size});
        std::free(bytes);
    }
    return static_cast<engine::Peer*>(endpoint);
}

}  // namespace

int add_procs(ompi_proc_t** processes, std::size_t count) {
    return mca_pml_base_pml_check_selected("beeline", processes, count);
}

int del_procs(ompi_proc_t** processes, std::size_t count) {
    const auto limit = std::chrono::steady_clock::now() + kDrainLimit;
    const auto idle = [] {
        const engine::Engine::Guard guard(engine());
        return engine().idle();
    };
    while (!idle() && std::chrono::steady_clock::now() < limit) {
        opal_progress();
    }
    {
        const engine::Engine::Guard guard(engine());
        engine().close_peers(opal_progress);
    }
    for (std::size_t i = 0; i < count; ++i) {
        processes[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] = nullptr;
    }
    // Peers may still need our progress until they have closed theirs.
    volatile bool done = false;
    opal_pmix.fence_nb(
        nullptr, 0, [](int, void* flag) { *static_cast<volatile bool*>(flag) = true; },
        const_cast<bool*>(&done));
    while (!done) {
        opal_progress();
    }
    return OMPI_SUCCESS;
}

int add_comm(ompi_communicator_t* communicator) {
    const engine::Engine::Guard guard(engine());
    const int peers = std::max(ompi_comm_size(communicator), ompi_comm_remote_size(communicator));
    auto* made = engine().add_communicator(communicator->c_contextid, ompi_comm_rank(communicator),
                                           peers, {resolve, communicator});
    communicator->c_pml_comm = reinterpret_cast<mca_pml_comm_t*>(made);
    return OMPI_SUCCESS;
}

int del_comm(ompi_communicator_t* communicator) {
    if (communicator->c_pml_comm != nullptr) {
        const engine::Engine::Guard guard(engine());
        engine().remove_communicator(&communicator_of(communicator));
        communicator->c_pml_comm = nullptr;
    }
    return OMPI_SUCCESS;
}

}  // namespace beeline::plugin::pml
