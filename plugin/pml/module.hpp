// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the PML share: the engine and the way from Open MPI's objects to its own.
#pragma once

#include "engine/engine.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::pml {

/// Set between init and finalize.
extern constinit engine::Engine* running;

/// The running engine; only between init and finalize.
inline engine::Engine& engine() noexcept {
    return *running;
}

inline engine::Communicator& communicator_of(ompi_communicator_t* communicator) noexcept {
    return *reinterpret_cast<engine::Communicator*>(communicator->c_pml_comm);
}

/// The component, for the modex and the registration of variables.
const mca_base_component_t* self() noexcept;

/// Starts the engine and publishes its address. kOk or why not.
Status start_engine(bool threads);
void stop_engine();

// processes.cpp
int add_procs(ompi_proc_t** processes, std::size_t count);
int del_procs(ompi_proc_t** processes, std::size_t count);
int add_comm(ompi_communicator_t* communicator);
int del_comm(ompi_communicator_t* communicator);

// messages.cpp
int irecv_init(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
               ompi_communicator_t* communicator, ompi_request_t** request);
int irecv(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
          ompi_communicator_t* communicator, ompi_request_t** request);
int recv(void* buffer, std::size_t count, ompi_datatype_t* type, int source, int tag,
         ompi_communicator_t* communicator, ompi_status_public_t* status);
int isend_init(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination,
               int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
               ompi_request_t** request);
int isend(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination, int tag,
          mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator,
          ompi_request_t** request);
int send(const void* buffer, std::size_t count, ompi_datatype_t* type, int destination, int tag,
         mca_pml_base_send_mode_t mode, ompi_communicator_t* communicator);

/// Frees the requests of blocking receives.
void release_alone();

// probes.cpp
int iprobe(int source, int tag, ompi_communicator_t* communicator, int* matched,
           ompi_status_public_t* status);
int probe(int source, int tag, ompi_communicator_t* communicator, ompi_status_public_t* status);
int improbe(int source, int tag, ompi_communicator_t* communicator, int* matched,
            ompi_message_t** message, ompi_status_public_t* status);
int mprobe(int source, int tag, ompi_communicator_t* communicator, ompi_message_t** message,
           ompi_status_public_t* status);
int imrecv(void* buffer, std::size_t count, ompi_datatype_t* type, ompi_message_t** message,
           ompi_request_t** request);
int mrecv(void* buffer, std::size_t count, ompi_datatype_t* type, ompi_message_t** message,
          ompi_status_public_t* status);
int dump(ompi_communicator_t* communicator, int verbose);

/// Waits for a request that nobody else holds, takes its status and gives it back; MPI's error
/// code.
int finish_blocking(ompi_request_t* request, ompi_status_public_t* status);

// report.cpp
void register_counters();
/// Copies the engine's counters to where MPI_T reads them.
void print_report();

}  // namespace beeline::plugin::pml
