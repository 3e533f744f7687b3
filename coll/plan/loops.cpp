// SPDX-License-Identifier: BSD-3-Clause
// Finding and unrolling loops.
#include "coll/plan/loops.hpp"

#include <algorithm>

namespace beeline::coll::plan {
namespace {

constexpr std::size_t kMostOps = 64;  // of one turn
constexpr std::uint32_t kFewestTurns = 3;

/// value + turn * step, from 0 to below `end`.
std::uint32_t moved(std::uint32_t value, std::int32_t step, std::uint32_t turn,
                    std::uint32_t end) noexcept {
    if (step == 0 || end == 0) {
        return value;
    }
    const std::int64_t there = std::int64_t{value} + std::int64_t{step} * turn;
    const std::int64_t inside = there % end;
    return static_cast<std::uint32_t>(inside < 0 ? inside + end : inside);
}

/// The shorter way from one to the other in a ring of `end`.
std::int32_t way(std::uint32_t from, std::uint32_t to, std::uint32_t end) noexcept {
    std::int64_t step = std::int64_t{to} - from;
    if (end > 0 && 2 * step > end) {
        step -= end;
    } else if (end > 0 && 2 * step < -std::int64_t{end}) {
        step += end;
    }
    return static_cast<std::int32_t>(step);
}

void move(const Schedule& schedule, Place& place, std::int32_t step, std::int32_t like,
          std::uint32_t turn) noexcept {
    place.chunk = moved(place.chunk, step, turn, schedule.chunks(place.buffer));
    place.like = moved(place.like, like, turn, schedule.frame_chunks());
}

/// The steps from `place` to `next`; false when they are in different buffers.
bool find_step(const Schedule& schedule, const Place& place, const Place& next, std::int32_t& step,
               std::int32_t& like) noexcept {
    step = way(place.chunk, next.chunk, schedule.chunks(place.buffer));
    like = way(place.like, next.like, schedule.frame_chunks());
    return place.buffer == next.buffer;
}

bool same_place(const Place& one, const Place& two) noexcept {
    return one == two && one.like == two.like;
}

bool same(const Op& one, const Op& two) noexcept {
    return one.kind == two.kind && one.second_first == two.second_first &&
           one.joined == two.joined && one.phase == two.phase && one.peer == two.peer &&
           one.channel == two.channel && one.count == two.count &&
           same_place(one.source, two.source) && same_place(one.second, two.second) &&
           same_place(one.target, two.target);
}

class Finder {
 public:
    explicit Finder(const Schedule& schedule) : schedule_(schedule) {}

    std::vector<Loop> run() {
        std::vector<Loop> loops;
        for (std::uint32_t index = 0; index < schedule_.ops.size();) {
            Loop best;
            best.first = index;
            const std::size_t left = schedule_.ops.size() - index;
            for (std::size_t ops = 1; ops <= std::min(kMostOps, left / kFewestTurns); ++ops) {
                Loop loop = of_length(index, ops);
                if (loop.turns >= kFewestTurns && loop.end() > best.end()) {
                    best = std::move(loop);
                }
            }
            index = std::max(index + 1, best.end());
            if (!best.strides.empty()) {
                loops.push_back(std::move(best));
            }
        }
        return loops;
    }

 private:
    const Op& op(std::size_t index) const { return schedule_.ops[index]; }

    /// The loop that begins here, of so many ops a turn: the first two turns say what moves.
    Loop of_length(std::uint32_t first, std::size_t ops) const {
        Loop loop;
        loop.first = first;
        for (std::size_t index = first; index < first + ops; ++index) {
            Stride stride;
            if (!step_of(op(index), op(index + ops), stride)) {
                return loop;
            }
            loop.strides.push_back(std::move(stride));
        }
        while (loop.end() + ops <= schedule_.ops.size() && turn_fits(loop)) {
            ++loop.turns;
        }
        return loop;
    }

    bool step_of(const Op& now, const Op& next, Stride& stride) const {
        if (now.kind != next.kind || now.afters != next.afters || now.count != next.count) {
            return false;
        }
        if (is_message(now.kind)) {
            stride.peer =
                way(static_cast<std::uint32_t>(now.peer), static_cast<std::uint32_t>(next.peer),
                    static_cast<std::uint32_t>(schedule_.size));
        }
        const auto before = schedule_.after(now);
        const auto later = schedule_.after(next);
        for (std::size_t index = 0; index < before.size(); ++index) {
            stride.after.push_back(later[index] - before[index]);
        }
        return find_step(schedule_, now.source, next.source, stride.source, stride.source_like) &&
               find_step(schedule_, now.second, next.second, stride.second, stride.second_like) &&
               find_step(schedule_, now.target, next.target, stride.target, stride.target_like);
    }

    /// Whether the ops behind the loop are one more turn of it.
    bool turn_fits(const Loop& loop) const {
        std::vector<std::int32_t> after;
        for (std::size_t index = 0; index < loop.strides.size(); ++index) {
            const Op& first = op(loop.first + index);
            const Op& actual = op(loop.end() + index);
            const Op expected = in_turn(schedule_, first, schedule_.after(first),
                                        loop.strides[index], loop.turns, after);
            const auto before = schedule_.after(actual);
            if (!same(expected, actual) ||
                !std::equal(before.begin(), before.end(), after.begin(), after.end())) {
                return false;
            }
        }
        return true;
    }

    const Schedule& schedule_;
};

}  // namespace

Op in_turn(const Schedule& schedule, const Op& op, std::span<const std::int32_t> first_after,
           const Stride& stride, std::uint32_t turn, std::vector<std::int32_t>& after) {
    Op result = op;
    if (is_message(op.kind)) {
        result.peer =
            static_cast<std::int32_t>(moved(static_cast<std::uint32_t>(op.peer), stride.peer, turn,
                                            static_cast<std::uint32_t>(schedule.size)));
    }
    move(schedule, result.source, stride.source, stride.source_like, turn);
    move(schedule, result.second, stride.second, stride.second_like, turn);
    move(schedule, result.target, stride.target, stride.target_like, turn);
    after.clear();
    for (std::size_t index = 0; index < first_after.size(); ++index) {
        const std::int64_t there =
            first_after[index] + std::int64_t{stride.after[index]} * std::int64_t{turn};
        after.push_back(there < 0 || there > INT32_MAX ? INT32_MAX
                                                       : static_cast<std::int32_t>(there));
    }
    return result;
}

std::vector<Loop> find_loops(const Schedule& schedule) {
    return Finder(schedule).run();
}

}  // namespace beeline::coll::plan
