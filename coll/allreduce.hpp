// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on any kind of memory: classify, choose a schedule, choose where to reduce, execute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/exec/device_engine.hpp"
#include "coll/exec/host_driven.hpp"
#include "coll/exec/host_engine.hpp"
#include "coll/select/select.hpp"

namespace beeline::coll {

/// What was done, for reports.
struct Counters {
    struct Line {
        std::uint64_t calls = 0;
        std::uint64_t bytes = 0;  ///< of the vectors
    };
    std::array<Line, select::kAlgorithms>
        by_algorithm{};           ///< kStaged: calls handed back to the caller
    std::uint64_t on_host = 0;    ///< calls that reduced on the CPU
    std::uint64_t on_device = 0;  ///< calls that reduced on a GPU
};

/// What a communicator keeps between calls: schedules, scratch, streams, kernels, counters. One
/// call at a time; MPI orders the collectives of a communicator anyway.
class AllreduceContext {
 public:
    const Counters& counters() const noexcept { return counters_; }

 private:
    friend Status allreduce(AllreduceContext&, const void*, void*, std::size_t, kernel::Type,
                            kernel::Op, exec::Transport&) noexcept;

    /// A schedule and what it was made for.
    struct Kept {
        select::Algorithm algorithm = select::Algorithm::kStaged;
        std::size_t slices = 1;
        std::uint64_t used = 0;  ///< 0: empty
        plan::Schedule schedule;
    };

    const plan::Schedule& schedule(const select::Choice& choice, int size, int rank,
                                   std::size_t count, bool in_place);

    Counters counters_;
    std::array<Kept, 8> kept_;
    std::uint64_t clock_ = 0;
    exec::HostDriven executor_;
    exec::HostEngine host_;
    exec::DeviceEngine device_;
};

/// Reduces `count` elements of all ranks of `transport` and leaves the result in `receive` on each.
/// `send` null means in place. Each buffer may be host, pinned, managed or device memory, whatever
/// the other ranks pass. All ranks must pass the same count, type and operation and run under the
/// same parameters. kUnsupported, before anything is sent and on all ranks alike, when the call is
/// to be staged (see select::choose); other failures leave the result undefined.
Status allreduce(AllreduceContext& context, const void* send, void* receive, std::size_t count,
                 kernel::Type type, kernel::Op op, exec::Transport& transport) noexcept;

}  // namespace beeline::coll
