// SPDX-License-Identifier: BSD-3-Clause
// A world in time.
#include "coll/plan/timeline.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include "coll/plan/layout.hpp"

namespace beeline::coll::plan {
namespace {

/// Discrete events: at each time what ended is noted, ranks issue what they can, and free links
/// take what waits for them, in the order of the ops.
class Machine {
 public:
    Machine(std::span<const Schedule> world, std::size_t bytes, const Rates& rates)
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
            touched_.insert(rank);
        }
    }

    Timeline run() {
        settle();
        while (!events_.empty()) {
            now_ = events_.top().time;
            while (!events_.empty() && events_.top().time <= now_) {
                const Event event = events_.top();
                events_.pop();
                touched_.insert(event.rank);
                if (event.op != kNone) {
                    ranks_[event.rank].complete[static_cast<std::size_t>(event.op)] = true;
                }
            }
            settle();
        }
        timeline_.end = now_;
        return std::move(timeline_);
    }

 private:
    struct Started {
        std::size_t rank = 0;
        std::size_t op = 0;
    };
    /// A message whose both sides have started.
    struct Message {
        Started send;
        Started receive;
    };
    /// Waiting messages of a link, in the order of the sender's ops.
    using Waiting = std::map<std::pair<std::size_t, std::size_t>, Message>;
    struct Rank {
        Schedule schedule;
        std::unique_ptr<Layout> layout;
        std::vector<bool> complete;
        std::size_t next = 0;
        double out_free = 0;
        double in_free = 0;
        double engine_free = 0;
        Waiting out;
        Waiting in;
    };
    /// An op ends, or (kNone) a link becomes free.
    struct Event {
        double time = 0;
        std::size_t rank = 0;
        std::int32_t op = kNone;
        bool operator>(const Event& other) const noexcept {
            return std::tie(time, rank, op) > std::tie(other.time, other.rank, other.op);
        }
    };

    void settle() {
        for (const std::size_t rank : touched_) {
            while (issue_next(rank)) {
            }
        }
        std::set<std::size_t> touched = std::move(touched_);
        touched_.clear();
        touched.insert(matched_.begin(), matched_.end());
        matched_.clear();
        for (const std::size_t rank : touched) {
            take(ranks_[rank].out);
        }
        for (const std::size_t rank : touched) {
            take(ranks_[rank].in);
        }
    }

    bool issue_next(std::size_t rank) {
        Rank& state = ranks_[rank];
        if (state.next == world_[rank].ops.size()) {
            return false;
        }
        const Op& op = world_[rank].ops[state.next];
        for (const std::int32_t before : world_[rank].after(op)) {
            if (!state.complete[static_cast<std::size_t>(before)]) {
                return false;
            }
        }
        const Started started{rank, state.next++};
        if (is_message(op.kind)) {
            start_message(started, op);
            return true;
        }
        const double begin = std::max(now_, state.engine_free);
        const double rate = op.kind == OpKind::kCopy ? rates_.copying : rates_.reduction;
        state.engine_free = begin + rates_.start + length(started) / rate;
        finish(started, begin, state.engine_free);
        return true;
    }

    double length(const Started& step) const {
        const Op& op = world_[step.rank].ops[step.op];
        const Place& place = op.kind == OpKind::kSend ? op.source : op.target;
        return static_cast<double>(ranks_[step.rank].layout->locate(place, op.count).count);
    }

    void finish(const Started& step, double begin, double end) {
        timeline_.ops[step.rank][step.op] = {begin, end};
        events_.push({end, step.rank, static_cast<std::int32_t>(step.op)});
    }

    void start_message(const Started& here, const Op& op) {
        const bool sends = op.kind == OpKind::kSend;
        const auto self = static_cast<int>(here.rank);
        auto& lane = lanes_[{sends ? self : op.peer, sends ? op.peer : self, op.channel}];
        auto& others = sends ? lane.second : lane.first;
        if (others.empty()) {
            (sends ? lane.first : lane.second).push_back(here);
            return;
        }
        const Started other = others.front();
        others.pop_front();
        const Message message{sends ? here : other, sends ? other : here};
        const std::pair key{message.send.op, message.send.rank};
        ranks_[message.send.rank].out.emplace(key, message);
        ranks_[message.receive.rank].in.emplace(key, message);
        matched_.push_back(message.send.rank);
    }

    /// Starts the first waiting message of a link whose both ends are free.
    void take(const Waiting& waiting) {
        for (const auto& [key, message] : waiting) {
            if (ranks_[message.send.rank].out_free <= now_ &&
                ranks_[message.receive.rank].in_free <= now_) {
                transfer(Message(message));
                return;
            }
        }
    }

    void transfer(const Message& message) {
        Rank& sender = ranks_[message.send.rank];
        Rank& receiver = ranks_[message.receive.rank];
        const double bytes = length(message.send);
        const double free = now_ + bytes / rates_.bandwidth;
        const double sent = free + rates_.latency;
        double received = sent;
        if (world_[message.receive.rank].ops[message.receive.op].kind == OpKind::kReceiveReduce) {
            received =
                std::max(sent, receiver.engine_free) + rates_.start + bytes / rates_.reduction;
            receiver.engine_free = received;
        }
        sender.out_free = receiver.in_free = free;
        const std::pair key{message.send.op, message.send.rank};
        sender.out.erase(key);
        receiver.in.erase(key);
        events_.push({free, message.send.rank, kNone});
        events_.push({free, message.receive.rank, kNone});
        finish(message.send, now_, sent);
        finish(message.receive, now_, received);
    }

    std::span<const Schedule> world_;
    const Rates& rates_;
    std::vector<Rank> ranks_;
    std::map<std::tuple<int, int, int>, std::pair<std::deque<Started>, std::deque<Started>>> lanes_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::set<std::size_t> touched_;
    std::vector<std::size_t> matched_;
    double now_ = 0;
    Timeline timeline_;
};

}  // namespace

Timeline simulate(std::span<const Schedule> world, std::size_t bytes, const Rates& rates) {
    return Machine(world, bytes, rates).run();
}

}  // namespace beeline::coll::plan
