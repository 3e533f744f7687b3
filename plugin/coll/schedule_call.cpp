// SPDX-License-Identifier: BSD-3-Clause
// From MPI's arguments to a schedule's call.
#include "plugin/coll/schedule_call.hpp"

#include <algorithm>

#include "plugin/coll/fused_call.hpp"
#include "plugin/machine.hpp"

namespace beeline::plugin::coll {
namespace {

using beeline::coll::exec::Patience;
using beeline::coll::plan::Collective;
using beeline::coll::plan::Cut;

/// Where the application has one thread only, nobody else begins operations or moves them on.
std::unique_lock<std::recursive_mutex> lock_if_threaded() {
    return opal_using_threads() ? std::unique_lock(Schedules::lock())
                                : std::unique_lock<std::recursive_mutex>();
}

bool present(const Buffer& buffer) noexcept {
    return buffer.amount != Amount::kNothing;
}

}  // namespace

bool ScheduleCall::prepare(Schedules& schedules, const Scheduled& family, const Buffers& buffers,
                           int root, ompi_op_t* op, ompi_communicator_t* comm, Form form) {
    if (!schedules.serves(comm, family.collective)) {
        return false;
    }
    schedules_ = &schedules;
    call_ = {};
    call_.collective = family.collective;
    call_.root = root;
    call_.cut = family.cut;
    call_.commutative = op == nullptr || ompi_op_is_commute(op);
    work_ = Work::kSchedule;
    handed_over_ = false;
    described_ = Status::kOk;
    input_.clear();
    output_.clear();
    if (!describe_call(family, buffers, op, comm) || !choose(family, comm, form)) {
        return false;
    }
    transport_.emplace(comm, schedules.next_operation(form == Form::kPersistent));
    return true;
}

bool ScheduleCall::describe_call(const Scheduled& family, const Buffers& buffers, ompi_op_t* op,
                                 ompi_communicator_t* comm) {
    if (op != nullptr) {
        return describe_reduction(family, buffers, op);
    }
    return beeline::coll::plan::on_neighbors(family.collective) ? describe_neighbors(buffers, comm)
                                                                : describe(family, buffers);
}

/// Only facts that are equal on all ranks may count here.
bool ScheduleCall::choose(const Scheduled& family, ompi_communicator_t* comm, Form form) {
    beeline::coll::select::Facts facts;
    facts.request.collective = family.collective;
    facts.request.size = ompi_comm_size(comm);
    facts.request.root = call_.root;
    facts.request.commutative = call_.commutative;
    facts.request.cut = family.cut;
    // Where MPI wants either all ranks in place or none, it is a fact that all know.
    facts.request.in_place = call_.in_place && (family.collective == Collective::kAllgather ||
                                                family.collective == Collective::kAlltoall);
    facts.request.node_of = schedules_->context().nodes();
    facts.bytes_known = family.sizes_known;
    facts.bytes = static_cast<double>(call_.sizes.count * call_.element);
    if (family.sizes_known && family.cut != Cut::kEven && family.cut != Cut::kEqual) {
        const Flat& whole = family.collective == Collective::kAllgather ? output_ : input_;
        facts.bytes = static_cast<double>(whole.bytes()) / ompi_comm_size(comm);
        work_ = whole.bytes() == 0 ? Work::kNothing : work_;
    } else if (family.sizes_known && family.collective != Collective::kBarrier) {
        work_ = call_.sizes.count == 0 ? Work::kNothing : work_;
    }
    choice_ = schedules_->choose(facts);
    if (form == Form::kBlocking) {
        prefer_fused(*schedules_, call_, comm, facts, choice_);
    }
    if (work_ == Work::kSchedule && beeline::coll::select::is_fused(choice_.algorithm)) {
        work_ = Work::kKernel;
    }
    handed_over_ = choice_.algorithm == nullptr && !may_fuse(*schedules_);
    return choice_.algorithm != nullptr;
}

/// Predefined operations on predefined types. The arguments of a reduction are equal on all ranks,
/// so the answer is.
bool ScheduleCall::describe_reduction(const Scheduled& family, const Buffers& buffers,
                                      ompi_op_t* op) {
    const Buffer& any = present(buffers.receive_out)  ? buffers.receive_out
                        : present(buffers.receive_in) ? buffers.receive_in
                                                      : buffers.send;
    if (!present(any)) {
        return false;
    }
    const auto type = machine_type_of(any.type);
    const auto machine_op = type ? machine_op_of(op, any.type) : std::nullopt;
    if (!machine_op || !beeline::coll::kernel::supported(*type, *machine_op)) {
        return false;
    }
    if (any.type->super.size != beeline::coll::kernel::size_of(*type)) {
        return false;  // a pair with a gap, which must stay as it is in the result
    }
    call_.type = *type;
    call_.op = *machine_op;
    call_.element = beeline::coll::kernel::size_of(*type);
    const bool in_place = !present(buffers.send);
    call_.in_place = in_place;
    // All data of the call, which for reduce_scatter is more than the result.
    const Buffer& input = in_place ? buffers.receive_in : buffers.send;
    described_ = input_.describe(input, Buffer{}, false);
    call_.input = in_place ? nullptr : input_.address();
    call_.output = present(buffers.receive_out) ? buffers.receive_out.address : nullptr;
    if (family.collective != Collective::kReduceScatter) {
        call_.sizes.count = any.count;
        return true;
    }
    call_.sizes.count =
        family.cut == Cut::kEqual
            ? any.count
            : static_cast<std::size_t>(buffers.receive_out.counts[buffers.receive_out.own]);
    input_.in_elements(call_.element);
    call_.sizes.input = input_.table();
    return true;
}

/// Collectives that only move data: bytes.
bool ScheduleCall::describe(const Scheduled& family, const Buffers& buffers) {
    const bool scattered = family.cut == Cut::kScattered;
    call_.element = 1;
    if (family.collective == Collective::kBarrier) {
        return true;
    }
    if (family.collective == Collective::kBcast) {
        described_ = output_.describe(buffers.receive_in, buffers.receive_out, false);
        call_.output = output_.address();
        call_.sizes.count = output_.bytes();
        return true;
    }
    call_.in_place = family.collective == Collective::kScatter ? !present(buffers.receive_out)
                                                               : !present(buffers.send);
    described_ = input_.describe(buffers.send, Buffer{}, scattered);
    // Lengths are needed even if the memory for one of the two was refused.
    const Status other = output_.describe(buffers.receive_in, buffers.receive_out, scattered);
    described_ = described_ == Status::kOk ? other : described_;
    call_.input = present(buffers.send) ? input_.address() : nullptr;
    const bool receives = present(buffers.receive_in) || present(buffers.receive_out);
    call_.output = receives ? output_.address() : nullptr;
    // The side that has one block says how long it is; the other one all lengths.
    const Flat& one =
        receives && (output_.blocks() == 1 || !present(buffers.send)) ? output_ : input_;
    call_.sizes.count = one.blocks() == 0 ? 0 : one.bytes_of(0);
    if (scattered) {
        call_.sizes.input = input_.table();
        call_.sizes.output = output_.table();
    }
    return true;
}

/// Blocks lie as the caller says; those of neighbours that are MPI_PROC_NULL are left out.
bool ScheduleCall::describe_neighbors(const Buffers& buffers, ompi_communicator_t* comm) {
    if (!schedules_->neighbors_known(comm)) {
        return false;
    }
    const Schedules::Neighbors& neighbors = schedules_->neighbors();
    call_.element = 1;
    call_.sources = neighbors.sources;
    call_.targets = neighbors.targets;
    described_ = input_.describe(buffers.send, Buffer{}, true, &neighbors.target_blocks);
    const Status other =
        output_.describe(Buffer{}, buffers.receive_out, true, &neighbors.source_blocks);
    described_ = described_ == Status::kOk ? other : described_;
    call_.input = input_.address();
    call_.output = output_.address();
    call_.sizes.input = input_.table();
    call_.sizes.output = output_.table();
    return true;
}

Status ScheduleCall::begin() {
    operation_ = nullptr;
    if (work_ == Work::kNothing) {
        return Status::kOk;
    }
    call_.failed = described_;
    for (Flat* side : {&input_, &output_}) {
        if (call_.failed == Status::kOk) {
            call_.failed = side->fetch();
        }
    }
    if (work_ == Work::kKernel) {
        return start_fused(*schedules_, call_,
                           beeline::coll::select::is_two_shot(choice_.algorithm));
    }
    const auto lock = lock_if_threaded();
    operation_ = schedules_->context().begin(call_, choice_, *transport_);
    return operation_ == nullptr ? Status::kNoMemory : Status::kOk;
}

bool ScheduleCall::advance(Patience patience) noexcept {
    if (work_ == Work::kKernel) {
        fused_ = wait_fused(*schedules_);
        return true;
    }
    return operation_ == nullptr || operation_->advance(patience);
}

Status ScheduleCall::finish() {
    if (work_ == Work::kKernel) {
        return fused_ != Status::kOk ? fused_ : output_.deliver();
    }
    if (operation_ == nullptr) {
        return Status::kOk;
    }
    const Status status = operation_->status();
    {
        const auto lock = lock_if_threaded();
        schedules_->context().release(operation_);
    }
    operation_ = nullptr;
    return status != Status::kOk ? status : output_.deliver();
}

}  // namespace beeline::plugin::coll
