// SPDX-License-Identifier: BSD-3-Clause
// The meeting point of the preloaded library and the component: the MPI calls that no component
// sees, as a table that the component fills while MPI is up.
#pragma once

#include <atomic>

#include <mpi.h>

namespace beeline::plugin {

/// What serves a call that names device memory. Each has the arguments of the MPI call.
struct PreloadHandlers {
    int (*pack)(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm);
    int (*unpack)(const void*, int, int*, void*, int, MPI_Datatype, MPI_Comm);
    int (*pack_external)(const char*, const void*, int, MPI_Datatype, void*, MPI_Aint, MPI_Aint*);
    int (*unpack_external)(const char*, const void*, MPI_Aint, MPI_Aint*, void*, int, MPI_Datatype);
    int (*sendrecv_replace)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
};

/// Exported by the preloaded library under kPreloadSymbol; null while no component is there.
using PreloadSlot = std::atomic<const PreloadHandlers*>;
inline constexpr const char* kPreloadSymbol = "beeline_preload_handlers";

}  // namespace beeline::plugin
