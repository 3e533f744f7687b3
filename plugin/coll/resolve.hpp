// SPDX-License-Identifier: BSD-3-Clause
// From the arguments of one collective call, by its shape, to the buffers it reads and writes.
#pragma once

#include <tuple>
#include <type_traits>

#include "plugin/coll/shapes.hpp"

namespace beeline::plugin::coll {

/// The buffers of one call on this rank. `receive_in` and `receive_out` are two views of one
/// buffer.
struct Buffers {
    Buffer send;
    Buffer receive_in;
    Buffer receive_out;
};

/// Blocks in a buffer of this communicator.
int count_peers(Peers peers, ompi_communicator_t* comm) noexcept;

/// True when this rank's argument counts; `root` as given to the call (0 in a call without one).
inline bool is_significant(Who who, int root, ompi_communicator_t* comm) noexcept {
    const bool inter = comm != nullptr && OMPI_COMM_IS_INTER(comm);
    switch (who) {
        case Who::kEveryone:
            return true;
        case Who::kRoot:
            return inter ? root == MPI_ROOT : root == ompi_comm_rank(comm);
        case Who::kOpposite:
            return !inter || root >= 0;
    }
    return true;
}

/// Builds the buffer of one side, of which nothing is known but its arguments' places.
template <Side S, class Arguments>
Buffer make_buffer(const Arguments& arguments, ompi_communicator_t* comm) noexcept {
    Buffer buffer;
    buffer.amount = S.amount;
    buffer.address = const_cast<void*>(static_cast<const void*>(std::get<S.address>(arguments)));
    if (comm != nullptr) {
        buffer.blocks = count_peers(S.peers, comm);
        buffer.own = ompi_comm_rank(comm);
    }
    const auto count = std::get<S.count>(arguments);
    if constexpr (std::is_pointer_v<decltype(count)>) {
        buffer.counts = count;
    } else {
        buffer.count = static_cast<std::size_t>(count);
    }
    if constexpr (S.displacements >= 0) {
        const auto displacements = std::get<S.displacements>(arguments);
        if constexpr (std::is_same_v<std::remove_cv_t<decltype(displacements)>, const MPI_Aint*>) {
            buffer.byte_displacements = displacements;
        } else {
            buffer.displacements = displacements;
        }
    }
    if constexpr (S.amount == Amount::kTyped) {
        buffer.types = std::get<S.type>(arguments);
    } else {
        buffer.type = std::get<S.type>(arguments);
    }
    return buffer;
}

/// The buffers by MPI's rules on roots, groups and MPI_IN_PLACE. What is not significant on this
/// rank is left out, unread.
template <Shape S, class Arguments>
Buffers resolve(const Arguments& arguments) noexcept {
    Buffers buffers;
    ompi_communicator_t* comm = nullptr;
    int root = 0;
    if constexpr (S.comm >= 0) {
        comm = std::get<S.comm>(arguments);
    }
    if constexpr (S.root >= 0) {
        root = std::get<S.root>(arguments);
    }
    if constexpr (S.broadcast) {
        const bool reads = is_significant(Who::kRoot, root, comm);
        if (reads) {
            buffers.receive_in = make_buffer<S.receive>(arguments, comm);
        } else if (is_significant(Who::kOpposite, root, comm)) {
            buffers.receive_out = make_buffer<S.receive>(arguments, comm);
        }
        return buffers;
    }
    if constexpr (S.receive.amount != Amount::kNothing) {
        if (is_significant(S.receive.who, root, comm) &&
            !(S.in_place == InPlace::kReceive &&
              std::get<S.receive.address>(arguments) == MPI_IN_PLACE)) {
            buffers.receive_out = make_buffer<S.receive>(arguments, comm);
            if constexpr (S.keeps_receive) {
                buffers.receive_in = buffers.receive_out;
            }
        }
    }
    if constexpr (S.send.amount != Amount::kNothing) {
        if (S.in_place == InPlace::kSend && std::get<S.send.address>(arguments) == MPI_IN_PLACE) {
            buffers.receive_in = buffers.receive_out;
            if (buffers.receive_out.amount != Amount::kNothing) {
                buffers.receive_in.amount = S.in_place_input;
            }
        } else if (is_significant(S.send.who, root, comm)) {
            buffers.send = make_buffer<S.send>(arguments, comm);
        }
    }
    return buffers;
}

}  // namespace beeline::plugin::coll
