// SPDX-License-Identifier: BSD-3-Clause
// MPI's predefined datatypes and operations as what the reduction kernels know.
#pragma once

#include <optional>

#include "coll/kernel/types.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin {

/// The machine type of a predefined datatype on which Open MPI's operations can work, or of one of
/// include/beeline/types.h; nothing for
/// others, and for types whose extent is not what the kernels expect.
std::optional<beeline::coll::kernel::Type> machine_type_of(const ompi_datatype_t* type) noexcept;

/// The machine operation of a predefined operation on this datatype, or of one of
/// include/beeline/types.h on a datatype from there; nothing for the user's own and for what MPI
/// does not define.
std::optional<beeline::coll::kernel::Op> machine_op_of(ompi_op_t* op,
                                                       const ompi_datatype_t* type) noexcept;

}  // namespace beeline::plugin
