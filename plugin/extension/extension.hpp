// SPDX-License-Identifier: BSD-3-Clause
// How the collectives recognise libbeeline_types' datatypes and operations, which are the user's
// own to Open MPI: the library itself is asked, if the program has loaded it.
#pragma once

#include <mpi.h>

namespace beeline::plugin {

/// Fills in the names (coll::kernel::to_string) of a datatype and an operation of the library's;
/// null for others. MPI_OP_NULL and MPI_DATATYPE_NULL are others.
using ExtensionQuery = void (*)(MPI_Datatype type, MPI_Op op, const char** type_name,
                                const char** op_name);

/// The query's name in the library; its last word is the version of the contract.
inline constexpr const char* kExtensionQuery = "beeline_extension_query_1";

}  // namespace beeline::plugin
