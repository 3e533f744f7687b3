// SPDX-License-Identifier: BSD-3-Clause
// Facts all ranks of a communicator agree on: whether any of them has a CUDA driver, and which
// share a node.
#pragma once

#include <vector>

#include "plugin/compat/ompi.hpp"

namespace beeline::plugin {

/// Publishes to the job whether this process has a CUDA driver, and its node. Call once in MPI_Init
/// before the exchange of addresses, that is when the component `owner` is opened.
int publish_gpu_fact(const mca_base_component_t* owner) noexcept;

/// True when every rank of the communicator (of both groups, if it is an inter-communicator)
/// published its fact and at least one has a driver: the same answer on all ranks by construction.
/// Costs a look-up for each rank, so ask once for each communicator and keep the answer.
bool comm_has_gpu(ompi_communicator_t* comm);

/// The node of each rank of an intra-communicator, numbered from 0 in the order of their lowest
/// ranks; empty when some rank published nothing. Costs as comm_has_gpu().
std::vector<int> nodes_of(ompi_communicator_t* comm);

}  // namespace beeline::plugin
