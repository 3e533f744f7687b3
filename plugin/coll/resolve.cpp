// SPDX-License-Identifier: BSD-3-Clause
// MPI's rules on who a collective call's arguments belong to.
#include "plugin/coll/resolve.hpp"

namespace beeline::plugin::coll {

int count_peers(Peers peers, ompi_communicator_t* comm) noexcept {
    switch (peers) {
        case Peers::kGroup:
            return OMPI_COMM_IS_INTER(comm) ? ompi_comm_remote_size(comm) : ompi_comm_size(comm);
        case Peers::kLocal:
            return ompi_comm_size(comm);
        case Peers::kSources:
        case Peers::kDestinations: {
            int sources = 0;
            int destinations = 0;
            if (mca_topo_base_neighbor_count(comm, &sources, &destinations) != OMPI_SUCCESS) {
                return 0;
            }
            return peers == Peers::kSources ? sources : destinations;
        }
    }
    return 0;
}

}  // namespace beeline::plugin::coll
