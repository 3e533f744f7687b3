// SPDX-License-Identifier: BSD-3-Clause
// Ring allreduce. Source: P. Patarasu, X. Yuan, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", J. Parallel Distrib. Comput. 69 (2009), which shows its 2(p-1)/p n
// bytes a rank are optimal.
#include <utility>
#include <vector>

#include "coll/pattern/chunks.hpp"
#include "coll/pattern/ring.hpp"
#include "coll/plan/allreduce.hpp"

namespace beeline::coll::plan {
namespace {

using pattern::Piece;

class RingBuilder {
 public:
    RingBuilder(int size, int rank, std::size_t count, bool in_place, std::size_t slice)
        : steps_(size - 1), largest_chunk_(pattern::largest_piece(count, as_size(size))) {
        schedule_.algorithm = "ring";
        schedule_.size = size;
        schedule_.rank = rank;
        schedule_.count = count;
        schedule_.in_place = in_place;
        slices_ = slice == 0 || largest_chunk_ == 0 ? 1 : (largest_chunk_ + slice - 1) / slice;
        largest_slice_ = pattern::largest_piece(largest_chunk_, slices_);
        schedule_.scratch = in_place ? 2 * slices_ * largest_slice_ : 0;
        reduced_.assign(2 * slices_, kNone);
        received_.assign(2 * slices_, kNone);
        sent_.assign(as_size(steps_) * slices_, kNone);
        schedule_.ops.reserve((as_size(steps_) * 5) * slices_);
    }

    Schedule build() {
        for (std::size_t slice = 0; slice < slices_; ++slice) {
            receive_partial(0, slice);
        }
        for (std::size_t slice = 0; slice < slices_; ++slice) {
            send_partial(0, slice);
        }
        // Receives are posted one step ahead, so that a message never waits for its buffer.
        for (int step = 0; step < steps_; ++step) {
            const bool last = step + 1 == steps_;
            for (std::size_t slice = 0; slice < slices_; ++slice) {
                last ? receive_result(0, slice) : receive_partial(step + 1, slice);
                reduce(step, slice);
                last ? send_result(0, slice) : send_partial(step + 1, slice);
            }
        }
        for (int step = 1; step < steps_; ++step) {
            for (std::size_t slice = 0; slice < slices_; ++slice) {
                receive_result(step, slice);
                send_result(step, slice);
            }
        }
        return std::move(schedule_);
    }

 private:
    static std::size_t as_size(int value) noexcept { return static_cast<std::size_t>(value); }

    /// Where a slice of a chunk lies in the vector; the same on every rank.
    Piece place(int chunk, std::size_t slice) const noexcept {
        const Piece whole =
            pattern::piece(schedule_.count, as_size(schedule_.size), as_size(chunk));
        const Piece part = pattern::piece(whole.count, slices_, slice);
        return {whole.offset + part.offset, part.count};
    }

    std::size_t slot(int step, std::size_t slice) const noexcept {
        return as_size(step % 2) * slices_ + slice;
    }

    Place contribution(const Piece& piece) const noexcept {
        return {schedule_.in_place ? Buffer::kOutput : Buffer::kInput, piece.offset};
    }

    Place landing(int step, std::size_t slice, const Piece& piece) const noexcept {
        if (schedule_.in_place) {
            return {Buffer::kScratch, slot(step, slice) * largest_slice_};
        }
        return {Buffer::kOutput, piece.offset};
    }

    void receive_partial(int step, std::size_t slice) {
        const int chunk = pattern::ring_reduce_received(schedule_.size, schedule_.rank, step);
        const Piece piece = place(chunk, slice);
        if (piece.count == 0) {
            return;
        }
        Op op;
        op.kind = OpKind::kReceive;
        op.peer = pattern::ring_previous(schedule_.size, schedule_.rank);
        op.target = landing(step, slice, piece);
        op.count = piece.count;
        if (schedule_.in_place) {
            op.after[0] = reduced_[slot(step, slice)];  // two steps ago: it read this slot
        }
        received_[slot(step, slice)] = append(schedule_, op);
    }

    void send_partial(int step, std::size_t slice) {
        const Piece piece =
            place(pattern::ring_reduce_sent(schedule_.size, schedule_.rank, step), slice);
        Op op;
        op.source = step == 0 ? contribution(piece) : Place{Buffer::kOutput, piece.offset};
        op.after[0] = step == 0 ? kNone : reduced_[slot(step - 1, slice)];
        sent_[as_size(step) * slices_ + slice] = send(op, piece);
    }

    void reduce(int step, std::size_t slice) {
        const int chunk = pattern::ring_reduce_received(schedule_.size, schedule_.rank, step);
        const Piece piece = place(chunk, slice);
        if (piece.count == 0) {
            return;
        }
        Op op;
        op.kind = OpKind::kReduce;
        op.source = landing(step, slice, piece);
        op.second = contribution(piece);
        op.target = {Buffer::kOutput, piece.offset};
        op.count = piece.count;
        op.after[0] = received_[slot(step, slice)];
        reduced_[slot(step, slice)] = append(schedule_, op);
    }

    void receive_result(int step, std::size_t slice) {
        const int chunk = pattern::ring_gather_received(schedule_.size, schedule_.rank, step);
        const Piece piece = place(chunk, slice);
        if (piece.count == 0) {
            return;
        }
        Op op;
        op.kind = OpKind::kReceive;
        op.peer = pattern::ring_previous(schedule_.size, schedule_.rank);
        op.target = {Buffer::kOutput, piece.offset};
        op.count = piece.count;
        if (step > 0 || schedule_.in_place) {
            op.after[0] = sent_[as_size(step) * slices_ + slice];  // it read what this overwrites
        }
        received_[slot(step + steps_, slice)] = append(schedule_, op);
    }

    void send_result(int step, std::size_t slice) {
        const Piece piece =
            place(pattern::ring_gather_sent(schedule_.size, schedule_.rank, step), slice);
        Op op;
        op.source = {Buffer::kOutput, piece.offset};
        op.after[0] = step == 0 ? reduced_[slot(steps_ - 1, slice)]
                                : received_[slot(step - 1 + steps_, slice)];
        send(op, piece);
    }

    std::int32_t send(Op& op, const Piece& piece) {
        if (piece.count == 0) {
            return kNone;
        }
        op.kind = OpKind::kSend;
        op.peer = pattern::ring_next(schedule_.size, schedule_.rank);
        op.count = piece.count;
        return append(schedule_, op);
    }

    Schedule schedule_;
    int steps_;
    std::size_t largest_chunk_;
    std::size_t slices_ = 1;
    std::size_t largest_slice_ = 0;
    std::vector<std::int32_t> reduced_;   // by parity of the step and slice
    std::vector<std::int32_t> received_;  // by parity of the step and slice
    std::vector<std::int32_t> sent_;      // by step of the reduce-scatter half and slice
};

}  // namespace

Schedule build_allreduce_ring(int size, int rank, std::size_t count, bool in_place,
                              std::size_t slice) {
    if (size > 1) {
        return RingBuilder(size, rank, count, in_place, slice).build();
    }
    Schedule schedule;
    schedule.algorithm = "ring";
    schedule.count = count;
    schedule.in_place = in_place;
    if (!in_place && count > 0) {
        Op op;
        op.source = {Buffer::kInput, 0};
        op.target = {Buffer::kOutput, 0};
        op.count = count;
        append(schedule, op);
    }
    return schedule;
}

}  // namespace beeline::coll::plan
