// SPDX-License-Identifier: BSD-3-Clause
// Whether schedules serve a communicator.
#include "plugin/coll/schedules.hpp"

#include "plugin/gpu_fact.hpp"

namespace beeline::plugin::coll {
namespace {

bool pml_is_ours() noexcept {
    return std::strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name,
                       "beeline") == 0;
}

}  // namespace

std::recursive_mutex& Schedules::lock() noexcept {
    static std::recursive_mutex mutex;
    return mutex;
}

bool Schedules::serves(ompi_communicator_t* comm) {
    if (able_ == Able::kUnknown) {
        const bool able = !OMPI_COMM_IS_INTER(comm) && ompi_comm_size(comm) > 1 && pml_is_ours() &&
                          comm_has_gpu(comm);
        if (able) {
            context_ = std::make_unique<beeline::coll::Context>();
            context_->set_nodes(nodes_of(comm));
        }
        able_ = able ? Able::kYes : Able::kNo;
    }
    return able_ == Able::kYes;
}

}  // namespace beeline::plugin::coll
