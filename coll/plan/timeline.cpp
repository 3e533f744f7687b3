// SPDX-License-Identifier: BSD-3-Clause
// A world in time.
#include "coll/plan/timeline.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <tuple>

#include "coll/plan/layout.hpp"

namespace beeline::coll::plan {
namespace {

class Clock {
 public:
    Clock(std::span<const Schedule> world, std::size_t bytes, const Rates& rates)
        : world_(world), rates_(rates), ranks_(world.size()) {
        for (std::size_t rank = 0; rank < world.size(); ++rank) {
            Rank& state = ranks_[rank];
            state.schedule = world[rank];
            if (state.schedule.cut != Cut::kEven) {
                state.schedule.cut = Cut::kEqual;
            }
            state.layout = std::make_unique<Layout>(state.schedule, Sizes{bytes, {}, {}});
            timeline_.ops.emplace_back(world[rank].ops.size());
            state.complete.resize(world[rank].ops.size());
            enqueue(rank, 0);
        }
    }

    /// Takes the ranks in the order of their clocks, so that links go to who comes first.
    Timeline run() {
        while (!ready_.empty()) {
            const auto [time, rank] = ready_.top();
            ready_.pop();
            advance(rank);
        }
        for (const auto& ops : timeline_.ops) {
            for (const Interval& interval : ops) {
                timeline_.end = std::max(timeline_.end, interval.end);
            }
        }
        return std::move(timeline_);
    }

 private:
    struct Rank {
        Schedule schedule;
        std::unique_ptr<Layout> layout;
        std::vector<bool> complete;
        std::size_t next = 0;
        double issued = 0;
        double out_free = 0;
        double in_free = 0;
        double engine_free = 0;
    };
    struct Started {
        std::size_t rank;
        std::size_t op;
        double time;
    };

    void enqueue(std::size_t rank, double time) { ready_.emplace(time, rank); }

    /// Issues one op, if what it waits for is complete, and comes back for the next.
    void advance(std::size_t rank) {
        Rank& state = ranks_[rank];
        if (state.next == world_[rank].ops.size()) {
            return;
        }
        const std::size_t index = state.next;
        const Op& op = world_[rank].ops[index];
        double time = state.issued;
        for (const std::int32_t before : world_[rank].after(op)) {
            const auto at = static_cast<std::size_t>(before);
            if (!state.complete[at]) {
                return;  // whoever completes it wakes this rank
            }
            time = std::max(time, timeline_.ops[rank][at].end);
        }
        state.issued = time;
        ++state.next;
        if (is_message(op.kind)) {
            start_message(rank, index, op, time);
        } else {
            compute(rank, index, op, time);
        }
        enqueue(rank, state.issued);
    }

    double length(std::size_t rank, const Op& op) const {
        const Place& place = op.kind == OpKind::kSend ? op.source : op.target;
        return op.count == 0
                   ? 0.0
                   : static_cast<double>(ranks_[rank].layout->locate(place, op.count).count);
    }

    void compute(std::size_t rank, std::size_t index, const Op& op, double time) {
        Rank& state = ranks_[rank];
        const double begin = std::max(time, state.engine_free);
        const double rate = op.kind == OpKind::kCopy ? rates_.copying : rates_.reduction;
        const double end = begin + rates_.start + length(rank, op) / rate;
        state.engine_free = end;
        timeline_.ops[rank][index] = {begin, end};
        state.complete[index] = true;
    }

    void start_message(std::size_t rank, std::size_t index, const Op& op, double time) {
        const bool sends = op.kind == OpKind::kSend;
        const auto self = static_cast<int>(rank);
        auto& lane = lanes_[{sends ? self : op.peer, sends ? op.peer : self, op.channel}];
        auto& others = sends ? lane.second : lane.first;
        if (others.empty()) {
            (sends ? lane.first : lane.second).push_back({rank, index, time});
            return;
        }
        const Started other = others.front();
        others.pop_front();
        const Started here{rank, index, time};
        transfer(sends ? here : other, sends ? other : here);
        enqueue(other.rank, ranks_[other.rank].issued);
    }

    void transfer(const Started& send, const Started& receive) {
        Rank& sender = ranks_[send.rank];
        Rank& receiver = ranks_[receive.rank];
        const Op& op = world_[receive.rank].ops[receive.op];
        const double bytes = length(send.rank, world_[send.rank].ops[send.op]);
        const double begin = std::max({send.time, receive.time, sender.out_free, receiver.in_free});
        const double sent = begin + rates_.latency + bytes / rates_.bandwidth;
        sender.out_free = begin + bytes / rates_.bandwidth;
        receiver.in_free = begin + bytes / rates_.bandwidth;
        double received = sent;
        if (op.kind == OpKind::kReceiveReduce) {
            received =
                std::max(sent, receiver.engine_free) + rates_.start + bytes / rates_.reduction;
            receiver.engine_free = received;
        }
        timeline_.ops[send.rank][send.op] = {begin, sent};
        timeline_.ops[receive.rank][receive.op] = {begin, received};
        sender.complete[send.op] = true;
        receiver.complete[receive.op] = true;
    }

    std::span<const Schedule> world_;
    const Rates& rates_;
    std::vector<Rank> ranks_;
    std::map<std::tuple<int, int, int>, std::pair<std::deque<Started>, std::deque<Started>>> lanes_;
    using Turn = std::pair<double, std::size_t>;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> ready_;
    Timeline timeline_;
};

}  // namespace

Timeline simulate(std::span<const Schedule> world, std::size_t bytes, const Rates& rates) {
    return Clock(world, bytes, rates).run();
}

}  // namespace beeline::coll::plan
