// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allreduce by Beeline's own schedules, over the messages of Beeline's own PML.
#pragma once

#include <memory>

#include "plugin/coll/report.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::coll {
class AllreduceContext;
}

namespace beeline::plugin::coll {

/// What one communicator needs for its allreduce; made by its first call.
class Allreduce {
 public:
    Allreduce() noexcept;
    ~Allreduce();

    /// Serves the call when every rank can: an intra-communicator with a GPU somewhere, Beeline's
    /// PML, a predefined operation on a type that the kernels know. False when the previous module
    /// has to serve it; `outcome` is then untouched. All ranks decide alike, whatever kind of
    /// memory each of them passes.
    bool serve(const void* send, void* receive, int count, ompi_datatype_t* type, ompi_op_t* op,
               ompi_communicator_t* comm, mca_coll_base_module_t*, int& outcome);

 private:
    enum class Able : unsigned char { kUnknown, kNo, kYes };
    Able able_ = Able::kUnknown;
    std::unique_ptr<beeline::coll::AllreduceContext> context_;
};

}  // namespace beeline::plugin::coll
