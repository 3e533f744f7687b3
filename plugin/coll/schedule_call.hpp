// SPDX-License-Identifier: BSD-3-Clause
// One collective call that a schedule serves, from MPI's arguments to its end.
#pragma once

#include <optional>

#include "coll/collective.hpp"
#include "plugin/coll/flat.hpp"
#include "plugin/coll/resolve.hpp"
#include "plugin/coll/scheduled.hpp"
#include "plugin/coll/schedules.hpp"
#include "plugin/coll/transport.hpp"

namespace beeline::plugin::coll {

/// Blocking calls prepare one, begin it and advance it to the end; persistent ones begin it again
/// and again.
class ScheduleCall {
 public:
    ScheduleCall() = default;
    ScheduleCall(const ScheduleCall&) = delete;
    ScheduleCall& operator=(const ScheduleCall&) = delete;

    /// Decides from facts that are equal on all ranks whether a schedule serves the call, and
    /// which. False: the previous module has to. `op` is null in calls without one. The caller's
    /// arrays and buffers must stay until the end.
    bool prepare(Schedules& schedules, const Scheduled& family, const Buffers& buffers, int root,
                 ompi_op_t* op, ompi_communicator_t* comm, Form form);

    /// After prepare() was false: whether the previous module was chosen, and would be for every
    /// call of this likeness.
    bool handed_over() const noexcept { return handed_over_; }

    /// Starts. Where memory for the data is refused, the call goes on and fails on all ranks that
    /// depend on this one. Only when not even the smallest memory can be had, this fails: nothing
    /// is under way then, and peers may wait for this rank, as for one that never made the call.
    Status begin();

    /// As Operation::advance(); with kWait the lock must not be held.
    bool advance(beeline::coll::exec::Patience patience) noexcept;

    /// Once advance() was true: takes results to where the caller wants them.
    Status finish();

    bool uses(const Schedules& schedules) const noexcept { return schedules_ == &schedules; }

    const beeline::coll::plan::Algorithm& algorithm() const noexcept { return *choice_.algorithm; }

 private:
    bool describe(const Scheduled& family, const Buffers& buffers);
    bool describe_neighbors(const Buffers& buffers, ompi_communicator_t* comm);
    bool describe_call(const Scheduled& family, const Buffers& buffers, ompi_op_t* op,
                       ompi_communicator_t* comm);
    bool choose(const Scheduled& family, ompi_communicator_t* comm, Form form);
    bool describe_reduction(const Scheduled& family, const Buffers& buffers, ompi_op_t* op);

    Schedules* schedules_ = nullptr;
    std::optional<PmlTransport> transport_;
    beeline::coll::Call call_;
    beeline::coll::select::Choice choice_;
    beeline::coll::Operation* operation_ = nullptr;
    Status fused_ = Status::kOk;  ///< how a call by one kernel began, or went
    /// What there is to do, on all ranks.
    enum class Work : unsigned char { kNothing, kKernel, kSchedule };
    Work work_ = Work::kNothing;
    bool handed_over_ = false;
    Flat input_;
    Flat output_;
    Status described_ = Status::kOk;
};

}  // namespace beeline::plugin::coll
