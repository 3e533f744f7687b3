// SPDX-License-Identifier: BSD-3-Clause
// The messages of a collective schedule as point-to-point messages of the selected PML.
#pragma once

#include "coll/exec/transport.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin::coll {

/// Sends bytes on a communicator of its own tags, which MPI_ANY_TAG never matches. The PML must be
/// Beeline's.
class PmlTransport final : public beeline::coll::exec::Transport {
 public:
    /// Numbers of operations are below this.
    static constexpr std::uint32_t kOperations = 1U << 21;

    /// `operation` tells operations on the communicator apart that may be under way at a time; all
    /// ranks must number them alike.
    PmlTransport(ompi_communicator_t* comm, std::uint32_t operation) noexcept;
    int rank() const noexcept override { return ompi_comm_rank(comm_); }
    int size() const noexcept override { return ompi_comm_size(comm_); }
    Result<beeline::coll::exec::Handle> send(const void* address, std::size_t bytes, int peer,
                                             int channel) noexcept override;
    Result<beeline::coll::exec::Handle> receive(void* address, std::size_t bytes, int peer,
                                                int channel) noexcept override;
    Status wait(std::span<beeline::coll::exec::Handle> handles) noexcept override;
    bool test(beeline::coll::exec::Handle handle, Status& outcome) noexcept override;

 private:
    ompi_communicator_t* comm_;
    int first_tag_;
};

}  // namespace beeline::plugin::coll
