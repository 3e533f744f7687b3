// SPDX-License-Identifier: BSD-3-Clause
// Symbolic execution of all ranks together.
#include "coll/plan/validate.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "coll/plan/meaning.hpp"

namespace beeline::coll::plan {
namespace {

/// An op of a rank.
struct Step {
    std::int32_t rank = 0;
    std::int32_t op = 0;
};

class World {
 public:
    World(std::span<const Schedule> schedules, std::span<const Neighbors> neighbors)
        : schedules_(schedules),
          meaning_(schedules, neighbors),
          contributions_(static_cast<int>(schedules.size())),
          ranks_(schedules.size()),
          barrier_(schedules[0].collective == Collective::kBarrier) {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            prepare(static_cast<int>(rank));
        }
    }

    Verdict run() {
        std::deque<std::int32_t> ready;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            ready.push_back(static_cast<std::int32_t>(rank));
        }
        while (!ready.empty() && verdict_.ok()) {
            const std::int32_t rank = ready.front();
            ready.pop_front();
            while (issue_next(rank)) {
            }
            for (const std::int32_t other : woken_) {
                ready.push_back(other);
            }
            woken_.clear();
        }
        if (verdict_.ok()) {
            check_end();
        }
        return std::move(verdict_);
    }

 private:
    struct Rank {
        std::size_t base[kBuffers] = {};  ///< where each buffer's chunks begin in `labels`
        std::vector<Label> labels;
        std::vector<bool> complete;
        std::vector<std::uint32_t> depth;  ///< by op: the most messages it waited for
        std::size_t next = 0;
        std::vector<std::vector<bool>> heard;  ///< barrier, by op: the ranks whose start it follows
    };
    /// Started sends that wait for receives, or the other way round.
    struct Lane {
        std::vector<Step> waiting;
        std::size_t first = 0;
        bool sends = false;
    };

    const Op& op_of(const Step& step) const {
        return schedules_[static_cast<std::size_t>(step.rank)]
            .ops[static_cast<std::size_t>(step.op)];
    }
    Rank& rank_of(const Step& step) { return ranks_[static_cast<std::size_t>(step.rank)]; }

    void prepare(int rank) {
        Rank& state = ranks_[static_cast<std::size_t>(rank)];
        const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
        std::size_t chunks = 0;
        for (int buffer = 0; buffer < kBuffers; ++buffer) {
            state.base[buffer] = chunks;
            chunks += schedule.chunks(static_cast<Buffer>(buffer));
        }
        state.labels.resize(chunks);
        for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
            for (std::uint32_t chunk = 0; chunk < schedule.chunks(buffer); ++chunk) {
                label(state, {buffer, chunk, 0}, 0) = meaning_.initial(rank, buffer, chunk);
            }
        }
        state.complete.resize(schedule.ops.size());
        state.depth.resize(schedule.ops.size());
        if (barrier_) {
            state.heard.resize(schedule.ops.size());
        }
        verdict_.ops += schedule.ops.size();
    }

    static Label& label(Rank& state, const Place& place, std::uint32_t chunk) {
        return state.labels[state.base[static_cast<int>(place.buffer)] + place.chunk + chunk];
    }

    /// Starts the next op of a rank when what it depends on is complete.
    bool issue_next(std::int32_t rank) {
        Rank& state = ranks_[static_cast<std::size_t>(rank)];
        const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
        if (state.next == schedule.ops.size() || !verdict_.ok()) {
            return false;
        }
        const Op& op = schedule.ops[state.next];
        std::uint32_t depth = 0;
        for (const std::int32_t before : schedule.after(op)) {
            if (!state.complete[static_cast<std::size_t>(before)]) {
                return false;
            }
            depth = std::max(depth, state.depth[static_cast<std::size_t>(before)]);
        }
        state.depth[state.next] = depth;
        start({rank, static_cast<std::int32_t>(state.next)}, op);
        ++state.next;
        return true;
    }

    void start(const Step& step, const Op& op) {
        if (is_message(op.kind)) {
            ++(op.kind == OpKind::kSend ? verdict_.messages : receives_);
            start_message(step, op);
            return;
        }
        Rank& state = rank_of(step);
        for (std::uint32_t chunk = 0; chunk < op.count && verdict_.ok(); ++chunk) {
            const Label source = label(state, op.source, chunk);
            if (op.kind == OpKind::kCopy) {
                write(step, op.target, chunk, source);
            } else {
                write(step, op.target, chunk,
                      combined(step, source, label(state, op.second, chunk)));
            }
        }
        state.complete[static_cast<std::size_t>(step.op)] = true;
    }

    Label combined(const Step& step, const Label& left, const Label& right) {
        if (!left.defined() || !right.defined()) {
            return {};  // write() says so
        }
        if (left.datum != right.datum) {
            fail(step, "combines different parts of the data");
            return {};
        }
        if (!reduces(schedules_[0].collective)) {
            fail(step, "reduces where nothing is to be reduced");
            return {};
        }
        const auto both = contributions_.combine(left.contributions, right.contributions);
        if (!both) {
            fail(step, "counts a contribution twice");
            return {};
        }
        return {left.datum, *both};
    }

    void write(const Step& step, const Place& target, std::uint32_t chunk, const Label& content) {
        if (!content.defined()) {
            fail(step, "reads memory that holds nothing");
            return;
        }
        const Place place{target.buffer, target.chunk + chunk, target.like + chunk};
        if (meaning_.length_class(content.datum) != meaning_.length_class(step.rank, place)) {
            fail(step, "writes where data of another length belong");
            return;
        }
        label(rank_of(step), target, chunk) = content;
    }

    void start_message(const Step& step, const Op& op) {
        const bool sends = op.kind == OpKind::kSend;
        const auto from = static_cast<std::uint64_t>(sends ? step.rank : op.peer);
        const auto to = static_cast<std::uint64_t>(sends ? op.peer : step.rank);
        const std::uint64_t key =
            (static_cast<std::uint64_t>(op.channel) * ranks_.size() + from) * ranks_.size() + to;
        Lane& lane = lanes_[key];
        if (lane.first == lane.waiting.size() || lane.sends == sends) {
            if (lane.first == lane.waiting.size()) {
                lane.waiting.clear();
                lane.first = 0;
            }
            lane.sends = sends;
            lane.waiting.push_back(step);
            return;
        }
        const Step other = lane.waiting[lane.first++];
        meet(sends ? step : other, sends ? other : step);
        woken_.push_back(other.rank);
    }

    void meet(const Step& send, const Step& receive) {
        const Op& source = op_of(send);
        const Op& target = op_of(receive);
        Rank& sender = rank_of(send);
        Rank& receiver = rank_of(receive);
        if (source.count != target.count) {
            fail(receive, "gets " + std::to_string(source.count) + " chunks for " +
                              std::to_string(target.count));
            return;
        }
        for (std::uint32_t chunk = 0; chunk < source.count && verdict_.ok(); ++chunk) {
            Label content = label(sender, source.source, chunk);
            if (target.kind == OpKind::kReceiveReduce) {
                const Label second = label(receiver, target.second, chunk);
                content = target.second_first ? combined(receive, second, content)
                                              : combined(receive, content, second);
            }
            write(receive, target.target, chunk, content);
        }
        const auto sent = static_cast<std::size_t>(send.op);
        const auto received = static_cast<std::size_t>(receive.op);
        if (barrier_) {
            receiver.heard[received] = heard_by(send.rank, source);
        }
        receiver.depth[received] = std::max(receiver.depth[received], sender.depth[sent] + 1);
        verdict_.depth = std::max(verdict_.depth, receiver.depth[received]);
        sender.complete[sent] = true;
        receiver.complete[received] = true;
    }

    /// The ranks whose start an op follows for sure.
    std::vector<bool> heard_by(std::int32_t rank, const Op& op) const {
        std::vector<bool> heard(ranks_.size());
        heard[static_cast<std::size_t>(rank)] = true;
        const Rank& state = ranks_[static_cast<std::size_t>(rank)];
        for (const std::int32_t before : schedules_[static_cast<std::size_t>(rank)].after(op)) {
            add(heard, state.heard[static_cast<std::size_t>(before)]);
        }
        return heard;
    }

    static void add(std::vector<bool>& all, const std::vector<bool>& more) {
        for (std::size_t rank = 0; rank < more.size(); ++rank) {
            all[rank] = all[rank] || more[rank];
        }
    }

    void check_end() {
        for (std::size_t rank = 0; rank < ranks_.size() && verdict_.ok(); ++rank) {
            const Rank& state = ranks_[rank];
            for (std::size_t op = 0; op < state.complete.size(); ++op) {
                if (!state.complete[op]) {
                    fail({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(op)},
                         op < state.next ? "finds no partner" : "is never started");
                    return;
                }
            }
            barrier_ ? check_heard(rank) : check_output(static_cast<int>(rank));
        }
    }

    void check_heard(std::size_t rank) {
        std::vector<bool> heard(ranks_.size());
        heard[rank] = true;
        for (const std::vector<bool>& by_op : ranks_[rank].heard) {
            add(heard, by_op);
        }
        if (std::find(heard.begin(), heard.end(), false) != heard.end()) {
            verdict_.problem = "rank " + std::to_string(rank) + " leaves before all have come";
        }
    }

    void check_output(int rank) {
        const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
        Rank& state = ranks_[static_cast<std::size_t>(rank)];
        for (std::uint32_t chunk = 0; chunk < schedule.chunks(Buffer::kOutput); ++chunk) {
            const Meaning::Wanted wanted = meaning_.wanted(rank, chunk);
            if (wanted.datum == Label::kUndefined) {
                continue;
            }
            const Label& held = label(state, {Buffer::kOutput, chunk, 0}, 0);
            const char* problem = nullptr;
            if (!held.defined()) {
                problem = "holds nothing";
            } else if (held.datum != wanted.datum) {
                problem = "holds other data";
            } else if (wanted.all_of == 0
                           ? held.contributions !=
                                 contributions_.single(meaning_.origin(held.datum))
                           : !contributions_.is_first(held.contributions, wanted.all_of)) {
                problem = "lacks contributions or has others";
            } else if (schedule.ordered && !contributions_.ordered(held.contributions)) {
                problem = "is not in rank order";
            }
            if (problem != nullptr) {
                verdict_.problem = "rank " + std::to_string(rank) + "'s output chunk " +
                                   std::to_string(chunk) + ' ' + problem;
                return;
            }
        }
    }

    void fail(const Step& step, const std::string& what) {
        if (verdict_.ok()) {
            verdict_.problem = "rank " + std::to_string(step.rank) + ", op " +
                               std::to_string(step.op) + " (" + to_string(op_of(step).kind) + ") " +
                               what;
        }
    }

    std::span<const Schedule> schedules_;
    Meaning meaning_;
    Contributions contributions_;
    std::vector<Rank> ranks_;
    bool barrier_;
    std::unordered_map<std::uint64_t, Lane> lanes_;
    std::vector<std::int32_t> woken_;
    std::uint64_t receives_ = 0;
    Verdict verdict_;
};

/// What must be equal on all ranks.
bool same_world(const Schedule& one, const Schedule& two) {
    const bool mixed_in_place = on_vector(one.collective) || rooted(one.collective);
    return one.collective == two.collective && one.size == two.size && one.root == two.root &&
           one.cut == two.cut && one.slices == two.slices && one.ordered == two.ordered &&
           (on_neighbors(one.collective) || one.frame_blocks == two.frame_blocks) &&
           (mixed_in_place || one.in_place == two.in_place);
}

/// The blocks of the buffers are those of the collective: a schedule can't change its meaning.
bool right_blocks(const Schedule& schedule, std::span<const Neighbors> neighbors) {
    Request request;
    request.collective = schedule.collective;
    request.size = schedule.size;
    request.rank = schedule.rank;
    request.root = schedule.root;
    request.in_place = schedule.in_place;
    request.cut = schedule.cut;
    if (on_neighbors(schedule.collective)) {
        const Neighbors& here = neighbors[static_cast<std::size_t>(schedule.rank)];
        request.sources = here.sources;
        request.targets = here.targets;
    }
    Schedule right = schedule;
    set_blocks(right, request, schedule.frame_blocks);
    return right.input_blocks == schedule.input_blocks &&
           right.output_blocks == schedule.output_blocks &&
           right.frame_blocks == schedule.frame_blocks && right.cut == schedule.cut;
}

}  // namespace

Verdict validate(std::span<const Schedule> world, std::span<const Neighbors> neighbors) {
    Verdict verdict;
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        const Schedule& schedule = world[rank];
        if (schedule.size != static_cast<int>(world.size()) ||
            schedule.rank != static_cast<int>(rank) || !same_world(schedule, world[0])) {
            verdict.problem = "rank " + std::to_string(rank) + "'s schedule is for another world";
            return verdict;
        }
        verdict.problem = validate_local(schedule);
        if (!verdict.ok()) {
            return verdict;
        }
        if ((on_neighbors(schedule.collective) && neighbors.size() != world.size()) ||
            !right_blocks(schedule, neighbors)) {
            verdict.problem = "rank " + std::to_string(rank) + "'s buffers are of another shape";
            return verdict;
        }
    }
    return world.empty() ? verdict : World(world, neighbors).run();
}

}  // namespace beeline::coll::plan
