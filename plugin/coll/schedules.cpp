// SPDX-License-Identifier: BSD-3-Clause
// Whether schedules serve a communicator.
#include "plugin/coll/schedules.hpp"

#include <algorithm>

#include "plugin/coll/transport.hpp"
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

std::uint32_t Schedules::next_operation(bool persistent) noexcept {
    // Either half repeats itself, long after whatever bore the number before is complete.
    constexpr std::uint32_t kHalf = PmlTransport::kOperations / 2;
    return persistent ? kHalf + persistent_operations_++ % kHalf : operations_++ % kHalf;
}

bool Schedules::serves(ompi_communicator_t* comm) {
    if (able_ == Able::kUnknown) {
        const bool able = !OMPI_COMM_IS_INTER(comm) && pml_is_ours() && comm_has_gpu(comm);
        if (able) {
            context_ = std::make_unique<beeline::coll::Context>();
            fused_ = std::make_unique<beeline::coll::exec::Fused>();
            std::vector<int> nodes = nodes_of(comm);
            one_node_ = !nodes.empty() &&
                        std::all_of(nodes.begin(), nodes.end(), [](int node) { return node == 0; });
            context_->set_nodes(std::move(nodes));
        }
        able_ = able ? Able::kYes : Able::kNo;
    }
    return able_ == Able::kYes;
}

}  // namespace beeline::plugin::coll
