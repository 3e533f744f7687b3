// SPDX-License-Identifier: BSD-3-Clause
// From schedules in place to those that are not, and back.
#include "coll/plan/request.hpp"
#include "coll/plan/transform.hpp"

namespace beeline::coll::plan {
namespace {

class TurnOver {
 public:
    TurnOver(const Schedule& from, bool in_place) : from_(from), to_(from) {
        Request request;
        request.collective = from.collective;
        request.size = from.size;
        request.rank = from.rank;
        request.root = from.root;
        request.in_place = in_place;
        request.cut = from.cut;
        set_blocks(to_, request, from.frame_blocks);
        lost_output_ = to_.output_blocks < from.output_blocks;
        gained_output_ = to_.output_blocks > from.output_blocks;
        // Blocks of a rank lie in the whole of all ranks' where its number says.
        const bool gathers =
            from.collective == Collective::kAllgather || from.collective == Collective::kGather;
        if (gathers || lost_output_ || gained_output_) {
            own_ = static_cast<std::uint32_t>(from.rank) * from.slices;
        }
    }

    Schedule run() {
        if (to_.in_place == from_.in_place) {
            return from_;
        }
        to_.ops.clear();
        to_.dependencies.clear();
        if (to_.in_place) {
            make_room();
        }
        begin();
        const std::int32_t begun = static_cast<std::int32_t>(to_.ops.size());
        for (Op op : from_.ops) {
            std::vector<std::int32_t> after;
            for (const std::int32_t before : from_.after(op)) {
                after.push_back(before + begun);
            }
            bool touches = false;
            for (Place* place : {&op.source, &op.second, &op.target}) {
                touches =
                    touches || place->buffer == Buffer::kInput || place->buffer == Buffer::kOutput;
                move(*place);
            }
            if (touches && begun > 0) {
                after.push_back(begun - 1);
            }
            append(to_, op, after);
        }
        return std::move(to_);
    }

 private:
    bool scattered() const noexcept { return from_.cut == Cut::kScattered; }

    /// Scratch for the buffer that is no longer there.
    void make_room() {
        if (scattered()) {
            to_.slots += (lost_output_ ? from_.output_blocks : from_.input_blocks) * from_.slices;
        } else {
            ++to_.mirrors;
        }
    }

    Place room(std::uint32_t chunk) const {
        if (scattered()) {
            return {Buffer::kSlot, from_.slots + chunk, own_ + chunk};
        }
        return {Buffer::kMirror, from_.mirrors * from_.frame_chunks() + own_ + chunk};
    }

    void move(Place& place) const {
        const Buffer lost = lost_output_ ? Buffer::kOutput : Buffer::kInput;
        if (to_.in_place && place.buffer == lost) {
            place = room(place.chunk);
        }
    }

    /// The copies that come before all else, one after another.
    void begin() {
        if (lost_output_) {
            return;  // what goes to the root itself, it has
        }
        const std::uint32_t chunks = gained_output_ ? from_.slices
                                     : to_.in_place ? from_.input_blocks * from_.slices
                                                    : to_.input_blocks * from_.slices;
        const std::uint32_t step = scattered() ? 1 : chunks;
        for (std::uint32_t chunk = 0; chunk < chunks; chunk += step) {
            Op copy;
            copy.count = step;
            if (gained_output_) {
                copy.source = {Buffer::kInput, own_ + chunk};
                copy.target = {Buffer::kOutput, chunk};
            } else if (to_.in_place) {
                copy.source = {Buffer::kOutput, own_ + chunk};
                copy.target = room(chunk);
            } else {
                copy.source = {Buffer::kInput, chunk};
                copy.target = {Buffer::kOutput, own_ + chunk};
            }
            const std::int32_t last = static_cast<std::int32_t>(to_.ops.size()) - 1;
            append(to_, copy, {&last, 1});
        }
    }

    const Schedule& from_;
    Schedule to_;
    bool lost_output_;    ///< a scatter's root has none in place
    bool gained_output_;  ///< and has one else
    std::uint32_t own_ = 0;
};

}  // namespace

Schedule turn_over(const Schedule& schedule, bool in_place) {
    return TurnOver(schedule, in_place).run();
}

}  // namespace beeline::coll::plan
