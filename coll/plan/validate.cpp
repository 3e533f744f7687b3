// SPDX-License-Identifier: BSD-3-Clause
// Symbolic execution of all ranks' schedules together.
#include "coll/plan/validate.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "coll/plan/symbols.hpp"
#include "coll/plan/validate_local.hpp"

namespace beeline::coll::plan {
namespace {

bool covers(const std::vector<Segment>& segments, std::size_t begin, std::size_t end) {
    for (const Segment& segment : segments) {
        if (segment.begin != begin) {
            return false;
        }
        begin = segment.end;
    }
    return begin == end;
}

class World {
 public:
    explicit World(std::span<const Schedule> schedules)
        : schedules_(schedules), contributions_(static_cast<int>(schedules.size())) {
        for (const Schedule& schedule : schedules_) {
            Rank rank;
            rank.complete.assign(schedule.ops.size(), false);
            const Buffer own = schedule.in_place ? Buffer::kOutput : Buffer::kInput;
            if (schedule.count > 0) {
                rank.contents[static_cast<std::size_t>(own)].write(
                    0, schedule.count,
                    {{0, schedule.count, 0, contributions_.single(schedule.rank)}});
            }
            ranks_.push_back(std::move(rank));
        }
    }

    Verdict run() {
        bool progress = true;
        while (progress && problem_.empty()) {
            progress = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                while (problem_.empty() && issue_next(rank)) {
                    progress = true;
                }
            }
        }
        if (problem_.empty()) {
            check_end();
        }
        return {problem_};
    }

 private:
    struct Rank {
        std::size_t next = 0;  ///< ops below it have been started
        std::vector<bool> complete;
        Contents contents[3];
    };
    struct Started {
        std::size_t rank;
        std::size_t op;
        std::vector<Segment> segments;  ///< of a send, from position 0
    };
    using Lane = std::tuple<int, int, int>;  ///< from, to, channel

    Contents& contents(std::size_t rank, Buffer buffer) {
        return ranks_[rank].contents[static_cast<std::size_t>(buffer)];
    }

    /// Starts the next op of `rank` when what it depends on is complete.
    bool issue_next(std::size_t rank) {
        Rank& state = ranks_[rank];
        if (state.next == schedules_[rank].ops.size()) {
            return false;
        }
        const Op& op = schedules_[rank].ops[state.next];
        for (const std::int32_t before : op.after) {
            if (before != kNone && !state.complete[static_cast<std::size_t>(before)]) {
                return false;
            }
        }
        start(rank, state.next, op);
        ++state.next;
        return true;
    }

    std::vector<Segment> read(std::size_t rank, std::size_t index, const Place& place) {
        const std::size_t end = place.offset + schedules_[rank].ops[index].count;
        std::vector<Segment> segments = contents(rank, place.buffer).read(place.offset, end);
        if (!covers(segments, place.offset, end)) {
            fail(rank, index, "reads memory that holds nothing");
        }
        return moved(std::move(segments), place.offset, 0);
    }

    void write(std::size_t rank, const Place& place, std::size_t count,
               std::vector<Segment> segments) {
        contents(rank, place.buffer)
            .write(place.offset, place.offset + count, moved(std::move(segments), 0, place.offset));
    }

    void start(std::size_t rank, std::size_t index, const Op& op) {
        switch (op.kind) {
            case OpKind::kSend: {
                const Lane lane{static_cast<int>(rank), op.peer, op.channel};
                sends_[lane].push_back({rank, index, read(rank, index, op.source)});
                meet(lane);
                break;
            }
            case OpKind::kReceive: {
                const Lane lane{op.peer, static_cast<int>(rank), op.channel};
                receives_[lane].push_back({rank, index, {}});
                meet(lane);
                break;
            }
            case OpKind::kCopy:
                write(rank, op.target, op.count, read(rank, index, op.source));
                ranks_[rank].complete[index] = true;
                break;
            case OpKind::kReduce:
                reduce(rank, index, op);
                ranks_[rank].complete[index] = true;
                break;
        }
    }

    /// Completes the first send and receive of a lane when both have started.
    void meet(const Lane& lane) {
        std::deque<Started>& sends = sends_[lane];
        std::deque<Started>& receives = receives_[lane];
        if (sends.empty() || receives.empty()) {
            return;
        }
        const Started send = std::move(sends.front());
        const Started receive = std::move(receives.front());
        sends.pop_front();
        receives.pop_front();
        const Op& source = schedules_[send.rank].ops[send.op];
        const Op& target = schedules_[receive.rank].ops[receive.op];
        if (source.count != target.count) {
            fail(receive.rank, receive.op,
                 "gets " + std::to_string(source.count) + " elements for " +
                     std::to_string(target.count));
            return;
        }
        write(receive.rank, target.target, target.count, send.segments);
        ranks_[send.rank].complete[send.op] = true;
        ranks_[receive.rank].complete[receive.op] = true;
    }

    void reduce(std::size_t rank, std::size_t index, const Op& op) {
        const std::vector<Segment> left = read(rank, index, op.source);
        const std::vector<Segment> right = read(rank, index, op.second);
        if (!problem_.empty()) {
            return;
        }
        std::vector<Segment> result;
        for (std::size_t l = 0, r = 0; l < left.size() && r < right.size();) {
            Segment piece = left[l];
            piece.begin = std::max(left[l].begin, right[r].begin);
            piece.end = std::min(left[l].end, right[r].end);
            if (left[l].shift != right[r].shift) {
                fail(rank, index, "combines different elements of the vector");
                return;
            }
            const auto id = contributions_.combine(left[l].id, right[r].id);
            if (!id) {
                fail(rank, index, "counts a contribution twice");
                return;
            }
            piece.id = *id;
            result.push_back(piece);
            const std::size_t end = piece.end;
            l += left[l].end == end ? 1 : 0;
            r += right[r].end == end ? 1 : 0;
        }
        write(rank, op.target, op.count, std::move(result));
    }

    void check_end() {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            const Schedule& schedule = schedules_[rank];
            for (std::size_t index = 0; index < schedule.ops.size(); ++index) {
                if (!ranks_[rank].complete[index]) {
                    fail(rank, index,
                         index < ranks_[rank].next ? "finds no partner" : "is never started");
                    return;
                }
            }
            const std::vector<Segment> result =
                contents(rank, Buffer::kOutput).read(0, schedule.count);
            if (!covers(result, 0, schedule.count)) {
                problem_ = "rank " + std::to_string(rank) + "'s output has holes";
            }
            for (const Segment& segment : result) {
                if (segment.shift != 0 || !contributions_.complete(segment.id)) {
                    problem_ = "rank " + std::to_string(rank) + "'s output [" +
                               std::to_string(segment.begin) + ", " + std::to_string(segment.end) +
                               ") is not the whole sum";
                } else if (schedule.ordered && !contributions_.ordered(segment.id)) {
                    problem_ = "rank " + std::to_string(rank) + "'s output is not in rank order";
                }
            }
        }
    }

    void fail(std::size_t rank, std::size_t index, const std::string& what) {
        if (problem_.empty()) {
            problem_ = describe(schedules_[rank], index, what);
        }
    }

    std::span<const Schedule> schedules_;
    Contributions contributions_;
    std::vector<Rank> ranks_;
    std::map<Lane, std::deque<Started>> sends_;
    std::map<Lane, std::deque<Started>> receives_;
    std::string problem_;
};

}  // namespace

Verdict validate(std::span<const Schedule> world) {
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        if (world[rank].rank != static_cast<int>(rank) ||
            world[rank].size != static_cast<int>(world.size()) ||
            world[rank].count != world[0].count) {
            return {"rank " + std::to_string(rank) + "'s schedule is for another world"};
        }
        Verdict local = validate_local(world[rank]);
        if (!local.ok()) {
            return local;
        }
    }
    return World(world).run();
}

}  // namespace beeline::coll::plan
