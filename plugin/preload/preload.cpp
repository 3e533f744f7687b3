// SPDX-License-Identifier: BSD-3-Clause
// libbeeline_preload.so: steps in front of the MPI calls whose data no component of Open MPI sees.
// It depends on nothing, so that a shell or a script that inherits the preload is not slowed down
// by MPI.
#include "plugin/preload/calls.hpp"

#define BEELINE_EXPORT extern "C" __attribute__((visibility("default")))

// Absent in a program without MPI, which then never calls us.
#pragma weak PMPI_Pack
#pragma weak PMPI_Unpack
#pragma weak PMPI_Pack_external
#pragma weak PMPI_Unpack_external
#pragma weak PMPI_Sendrecv_replace

extern "C" {
__attribute__((visibility(
    "default"))) constinit beeline::plugin::PreloadSlot beeline_preload_handlers{nullptr};
}

namespace {

const beeline::plugin::PreloadHandlers* handlers() noexcept {
    return beeline_preload_handlers.load(std::memory_order_acquire);
}

}  // namespace

BEELINE_EXPORT int MPI_Pack(const void* data, int count, MPI_Datatype type, void* packed,
                            int packed_size, int* position, MPI_Comm comm) {
    const auto* serve = handlers();
    return (serve != nullptr ? serve->pack : PMPI_Pack)(data, count, type, packed, packed_size,
                                                        position, comm);
}

BEELINE_EXPORT int MPI_Unpack(const void* packed, int packed_size, int* position, void* data,
                              int count, MPI_Datatype type, MPI_Comm comm) {
    const auto* serve = handlers();
    return (serve != nullptr ? serve->unpack : PMPI_Unpack)(packed, packed_size, position, data,
                                                            count, type, comm);
}

BEELINE_EXPORT int MPI_Pack_external(const char representation[], const void* data, int count,
                                     MPI_Datatype type, void* packed, MPI_Aint packed_size,
                                     MPI_Aint* position) {
    const auto* serve = handlers();
    return (serve != nullptr ? serve->pack_external : PMPI_Pack_external)(
        representation, data, count, type, packed, packed_size, position);
}

BEELINE_EXPORT int MPI_Unpack_external(const char representation[], const void* packed,
                                       MPI_Aint packed_size, MPI_Aint* position, void* data,
                                       int count, MPI_Datatype type) {
    const auto* serve = handlers();
    return (serve != nullptr ? serve->unpack_external : PMPI_Unpack_external)(
        representation, packed, packed_size, position, data, count, type);
}

BEELINE_EXPORT int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to,
                                        int send_tag, int from, int receive_tag, MPI_Comm comm,
                                        MPI_Status* status) {
    const auto* serve = handlers();
    return (serve != nullptr ? serve->sendrecv_replace : PMPI_Sendrecv_replace)(
        data, count, type, to, send_tag, from, receive_tag, comm, status);
}
