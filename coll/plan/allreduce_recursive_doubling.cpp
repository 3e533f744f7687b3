// SPDX-License-Identifier: BSD-3-Clause
// Recursive doubling allreduce. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005);
// here with neighbouring ranks folded, so that operands keep the rank order for every size.
#include <algorithm>
#include <utility>

#include "coll/pattern/doubling.hpp"
#include "coll/plan/allreduce.hpp"

namespace beeline::coll::plan {
namespace {

class DoublingBuilder {
 public:
    DoublingBuilder(int size, int rank, std::size_t count, bool in_place) {
        schedule_.algorithm = "recursive_doubling";
        schedule_.size = size;
        schedule_.rank = rank;
        schedule_.count = count;
        schedule_.in_place = in_place;
        schedule_.ordered = true;
        held_ = {in_place ? Buffer::kOutput : Buffer::kInput, 0};
    }

    Schedule build() {
        if (schedule_.count == 0) {
            return std::move(schedule_);
        }
        if (pattern::folded(schedule_.size, schedule_.rank)) {
            const int partner = pattern::fold_partner(schedule_.rank);
            const std::int32_t sent = send(partner);
            Op op;
            op.kind = OpKind::kReceive;
            op.peer = partner;
            op.target = {Buffer::kOutput, 0};
            op.count = schedule_.count;
            op.after[0] = schedule_.in_place ? sent : kNone;
            append(schedule_, op);
            return std::move(schedule_);
        }
        act();
        return std::move(schedule_);
    }

 private:
    /// The exchanges of an acting rank: number 0 is the fold when there is one, then the doubling
    /// steps.
    int exchange_peer(int number) const noexcept {
        const bool folds = pattern::folds_neighbour(schedule_.size, schedule_.rank);
        if (folds && number == 0) {
            return pattern::fold_partner(schedule_.rank);
        }
        return pattern::doubling_peer(schedule_.size, schedule_.rank, number - (folds ? 1 : 0));
    }

    void act() {
        const bool folds = pattern::folds_neighbour(schedule_.size, schedule_.rank);
        const int exchanges = pattern::doubling_steps(schedule_.size) + (folds ? 1 : 0);
        const int in_scratch = exchanges - (schedule_.in_place ? 0 : 1);
        schedule_.scratch =
            static_cast<std::size_t>(std::clamp(in_scratch, 0, 2)) * schedule_.count;
        for (int number = 0; number < exchanges; ++number) {
            if (number == 0) {
                receive(0);
            }
            const bool fold_step = folds && number == 0;
            const std::int32_t sent = fold_step ? kNone : send(exchange_peer(number));
            if (number + 1 < exchanges) {
                receive(number + 1);  // posted ahead: the peer may already be there
            }
            reduce(number, sent);
        }
        if (folds) {
            send(pattern::fold_partner(schedule_.rank));
        }
    }

    /// Not in place, the first message lands in the output, which nobody needs yet.
    Place landing(int number) const noexcept {
        if (number == 0 && !schedule_.in_place) {
            return {Buffer::kOutput, 0};
        }
        const int slots = static_cast<int>(schedule_.scratch / schedule_.count);
        return {Buffer::kScratch, static_cast<std::size_t>(number % slots) * schedule_.count};
    }

    void receive(int number) {
        Op op;
        op.kind = OpKind::kReceive;
        op.peer = exchange_peer(number);
        op.target = landing(number);
        op.count = schedule_.count;
        if (number >= 2 && landing(number - 2) == op.target) {
            op.after[0] = reduced_[number % 2];  // it read this slot
        }
        received_[number % 2] = append(schedule_, op);
    }

    std::int32_t send(int peer) {
        Op op;
        op.kind = OpKind::kSend;
        op.peer = peer;
        op.source = held_;
        op.count = schedule_.count;
        op.after[0] = last_reduced_;
        return append(schedule_, op);
    }

    void reduce(int number, std::int32_t sent) {
        Op op;
        op.kind = OpKind::kReduce;
        const bool peer_is_lower = exchange_peer(number) < schedule_.rank;
        op.source = peer_is_lower ? landing(number) : held_;
        op.second = peer_is_lower ? held_ : landing(number);
        op.target = {Buffer::kOutput, 0};
        op.count = schedule_.count;
        op.after[0] = received_[number % 2];
        op.after[1] = held_.buffer == Buffer::kOutput ? sent : kNone;  // it reads what this changes
        op.after[2] = last_reduced_;
        last_reduced_ = reduced_[number % 2] = append(schedule_, op);
        held_ = op.target;
    }

    Schedule schedule_;
    Place held_;  ///< where this rank's partial result is
    std::int32_t last_reduced_ = kNone;
    std::int32_t received_[2] = {kNone, kNone};
    std::int32_t reduced_[2] = {kNone, kNone};
};

}  // namespace

Schedule build_allreduce_recursive_doubling(int size, int rank, std::size_t count, bool in_place) {
    if (size > 1) {
        return DoublingBuilder(size, rank, count, in_place).build();
    }
    Schedule schedule = build_allreduce_ring(1, 0, count, in_place);
    schedule.algorithm = "recursive_doubling";
    schedule.ordered = true;
    return schedule;
}

}  // namespace beeline::coll::plan
