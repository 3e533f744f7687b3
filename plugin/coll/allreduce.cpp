// SPDX-License-Identifier: BSD-3-Clause
// Joins MPI_Allreduce to coll/allreduce.hpp.
#include "plugin/coll/allreduce.hpp"

#include "coll/allreduce.hpp"
#include "plugin/coll/transport.hpp"
#include "plugin/gpu_fact.hpp"
#include "plugin/machine.hpp"
#include "plugin/staging.hpp"

namespace beeline::plugin::coll {
namespace {

using beeline::coll::select::Algorithm;

bool pml_is_ours() noexcept {
    return std::strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name,
                       "beeline") == 0;
}

bool can_serve(ompi_communicator_t* comm) {
    return !OMPI_COMM_IS_INTER(comm) && ompi_comm_size(comm) > 1 && pml_is_ours() &&
           comm_has_gpu(comm);
}

}  // namespace

Allreduce::Allreduce() noexcept = default;
Allreduce::~Allreduce() = default;

bool Allreduce::serve(const void* send, void* receive, int count, ompi_datatype_t* type,
                      ompi_op_t* op, ompi_communicator_t* comm, mca_coll_base_module_t*,
                      int& outcome) {
    if (able_ == Able::kUnknown) {
        able_ = can_serve(comm) ? Able::kYes : Able::kNo;
    }
    if (able_ == Able::kNo) {
        return false;
    }
    const auto machine_type = machine_type_of(type);
    const auto machine_op = machine_op_of(op, type);
    if (!machine_type || !machine_op) {
        return false;
    }
    const auto elements = static_cast<std::size_t>(count);
    const auto choice = beeline::coll::select::choose(
        {ompi_comm_size(comm), elements, *machine_type, *machine_op}, config::params());
    if (choice.algorithm == Algorithm::kStaged) {
        return false;
    }
    if (!context_) {
        context_ = std::make_unique<beeline::coll::AllreduceContext>();
    }
    count_call(Entry::k_allreduce,
               choice.algorithm == Algorithm::kRing ? Way::kRing : Way::kRecursiveDoubling);
    PmlTransport transport(comm);
    const Status status =
        beeline::coll::allreduce(*context_, send == MPI_IN_PLACE ? nullptr : send, receive,
                                 elements, *machine_type, *machine_op, transport);
    outcome = to_ompi(status);
    return true;
}

}  // namespace beeline::plugin::coll
