// SPDX-License-Identifier: BSD-3-Clause
// The messages of a collective schedule as point-to-point messages of the selected PML.
#pragma once

#include "coll/exec/transport.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::coll {

/// Sends bytes on a communicator of its own tags, which MPI_ANY_TAG never matches. The PML must
/// accept device addresses.
class PmlTransport final : public beeline::coll::exec::Transport {
 public:
    explicit PmlTransport(ompi_communicator_t* comm) noexcept : comm_(comm) {}
    int rank() const noexcept override { return ompi_comm_rank(comm_); }
    int size() const noexcept override { return ompi_comm_size(comm_); }
    Result<beeline::coll::exec::Handle> send(const void* address, std::size_t bytes, int peer,
                                             int channel) noexcept override;
    Result<beeline::coll::exec::Handle> receive(void* address, std::size_t bytes, int peer,
                                                int channel) noexcept override;
    Status wait(std::span<beeline::coll::exec::Handle> handles) noexcept override;

 private:
    ompi_communicator_t* comm_;
};

}  // namespace beeline::plugin::coll
