// SPDX-License-Identifier: BSD-3-Clause
// Facts all ranks of a communicator agree on: whether any of them has a CUDA driver, which share a
// node, and whether they choose schedules by the same settings.
#pragma once

#include <cstdint>
#include <vector>

#include "plugin/compat/ompi.hpp"

namespace beeline::plugin {

/// Publishes to the job whether this process has a CUDA driver, its node, and the fingerprint of
/// the settings that it chooses schedules by. Call once in MPI_Init before the exchange of
/// addresses, that is when the component `owner` is opened.
int publish_gpu_fact(const mca_base_component_t* owner, std::uint64_t choosing) noexcept;

/// What the ranks of an intra-communicator published: the same on all of them by construction. As
/// here when some rank published nothing.
struct CommFacts {
    bool any_driver = false;  ///< at least one rank has a CUDA driver
    /// The node of each rank, numbered from 0 in the order of their lowest ranks.
    std::vector<int> nodes;
    int chooses_otherwise = -1;  ///< the first rank with another fingerprint than rank 0; or -1
};

/// Costs a look-up for each rank, so ask once for each communicator and keep the answer.
CommFacts facts_of(ompi_communicator_t* comm);

}  // namespace beeline::plugin
