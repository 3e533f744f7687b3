// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that say so compute ((0 op 1) op 2) ... in every element, joined alike on every rank:
// what coll_beeline_reproducible promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "coll/kernel/types.hpp"
#include "coll/plan/transform.hpp"
#include "tests/model/coll/builders.hpp"

namespace beeline::coll::plan {
namespace {

/// Expressions by number: a rank's contribution, or one launch on several expressions.
class Expressions {
 public:
    int contribution(int rank) { return number({-1 - rank}); }
    int combined(const std::vector<int>& inputs) { return number(inputs); }

 private:
    int number(const std::vector<int>& parts) {
        return numbers_.emplace(parts, static_cast<int>(numbers_.size())).first->second;
    }
    std::map<std::vector<int>, int> numbers_;
};

/// ((0 op 1) op 2) ... of the ranks up to `last`, as many at once as one launch takes.
int fold(Expressions& expressions, int last, bool joined) {
    int value = expressions.contribution(0);
    std::vector<int> inputs{value};
    for (int rank = 1; rank <= last; ++rank) {
        inputs.push_back(expressions.contribution(rank));
        if (!joined || inputs.size() == kernel::kMostInputs || rank == last) {
            value = expressions.combined(inputs);
            inputs = {value};
        }
    }
    return value;
}

/// Runs the schedules of all ranks on expressions; each chunk of a vector is alike.
class World {
 public:
    World(const Algorithm& algorithm, const Request& request, Expressions& expressions)
        : expressions_(expressions) {
        for (Schedule& schedule : build_world(algorithm, request)) {
            Schedule joined = join(split(schedule), kernel::kMostInputs);
            const std::size_t ops = joined.ops.size();
            ranks_.push_back({std::move(joined), {}, std::vector<bool>(ops)});
        }
        for (Rank& rank : ranks_) {
            for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
                for (std::uint32_t chunk = 0; chunk < rank.schedule.chunks(buffer); ++chunk) {
                    rank.values[{buffer, chunk}] = expressions.contribution(rank.schedule.rank);
                }
            }
        }
    }

    void run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (Rank& rank : ranks_) {
                for (std::size_t op = 0; op < rank.done.size(); op = end_of_group(rank, op)) {
                    moved = (!rank.done[op] && step(rank, op)) || moved;
                }
            }
        }
    }

    bool complete() const {
        for (const Rank& rank : ranks_) {
            for (const bool done : rank.done) {
                if (!done) {
                    return false;
                }
            }
        }
        return true;
    }

    const Schedule& schedule(int rank) const {
        return ranks_[static_cast<std::size_t>(rank)].schedule;
    }

    int output(int rank, std::uint32_t chunk) {
        return ranks_[static_cast<std::size_t>(rank)].values[{Buffer::kOutput, chunk}];
    }

 private:
    struct Rank {
        Schedule schedule;
        std::map<std::pair<Buffer, std::uint32_t>, int> values;
        std::vector<bool> done;
    };

    static std::size_t end_of_group(const Rank& rank, std::size_t first) {
        std::size_t end = first + 1;
        while (end < rank.schedule.ops.size() && rank.schedule.ops[end].joined) {
            ++end;
        }
        return end;
    }

    /// Whether what the op depends on, outside of its group, is done, and the messages before it on
    /// its lane.
    static bool ready(const Rank& rank, std::size_t index, std::size_t group) {
        const Op& op = rank.schedule.ops[index];
        for (const std::int32_t before : rank.schedule.after(op)) {
            const auto at = static_cast<std::size_t>(before);
            if (at < group && !rank.done[at]) {
                return false;
            }
        }
        for (std::size_t before = 0; is_message(op.kind) && before < index; ++before) {
            const Op& other = rank.schedule.ops[before];
            if (other.kind == op.kind && other.peer == op.peer && other.channel == op.channel &&
                !rank.done[before]) {
                return false;
            }
        }
        return true;
    }

    /// One op, or several that are joined. False when it must wait.
    bool step(Rank& rank, std::size_t first) {
        const Op& op = rank.schedule.ops[first];
        const std::size_t end = end_of_group(rank, first);
        for (std::size_t index = first; index < end; ++index) {
            if (!ready(rank, index, first)) {
                return false;
            }
        }
        const auto value = [&](const Place& place, std::uint32_t chunk) -> int& {
            return rank.values[{place.buffer, place.chunk + chunk}];
        };
        auto& lane = lanes_[op.kind == OpKind::kReceive
                                ? std::tuple(op.peer, rank.schedule.rank, op.channel)
                                : std::tuple(rank.schedule.rank, op.peer, op.channel)];
        if (op.kind == OpKind::kReceive && lane.size() < op.count) {
            return false;
        }
        for (std::uint32_t chunk = 0; chunk < op.count; ++chunk) {
            if (op.kind == OpKind::kSend) {
                lane.push_back(value(op.source, chunk));
            } else if (op.kind == OpKind::kReceive) {
                value(op.target, chunk) = lane.front();
                lane.pop_front();
            } else if (op.kind == OpKind::kCopy) {
                value(op.target, chunk) = value(op.source, chunk);
            } else {
                std::vector<int> inputs{value(op.source, chunk)};
                for (std::size_t index = first; index < end; ++index) {
                    inputs.push_back(value(rank.schedule.ops[index].second, chunk));
                }
                value(rank.schedule.ops[end - 1].target, chunk) = expressions_.combined(inputs);
            }
        }
        std::fill(rank.done.begin() + static_cast<std::ptrdiff_t>(first),
                  rank.done.begin() + static_cast<std::ptrdiff_t>(end), true);
        return true;
    }

    Expressions& expressions_;
    std::vector<Rank> ranks_;
    std::map<std::tuple<int, int, int>, std::deque<int>> lanes_;
};

/// Whether every element of every result is a fold.
bool is_a_fold(const Algorithm& algorithm, const Request& request) {
    Expressions expressions;
    World world(algorithm, request, expressions);
    world.run();
    EXPECT_TRUE(world.complete());
    const bool scans =
        request.collective == Collective::kScan || request.collective == Collective::kExscan;
    for (int rank = 0; rank < request.size; ++rank) {
        const bool exclusive = request.collective == Collective::kExscan;
        const int last = !scans ? request.size - 1 : exclusive ? rank - 1 : rank;
        if (last < 0 || (rooted(request.collective) && rank != request.root)) {
            continue;
        }
        const int wanted = fold(expressions, last, !scans);
        const std::uint32_t chunks = world.schedule(rank).chunks(Buffer::kOutput);
        for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
            if (world.output(rank, chunk) != wanted) {
                return false;
            }
        }
    }
    return true;
}

TEST(Folds, AreWhatTheAlgorithmsSayTheyAre) {
    int folding = 0;
    for (const Algorithm* algorithm : algorithms()) {
        if (!algorithm->folds) {
            continue;
        }
        ++folding;
        for (const int size : {1, 2, 3, 4, 5, 8, 15, 16, 17, 18, 31, 32, 40}) {
            for (int shape = 0; shape < 8; ++shape) {
                Request request;
                request.collective = algorithm->collective;
                request.size = size;
                request.in_place = (shape & 1) != 0;
                request.slices = (shape & 2) != 0 && algorithm->pipelines ? 3 : 1;
                request.root = (shape & 4) != 0 ? size / 2 : size - 1;
                if (refuses(*algorithm, request) == nullptr) {
                    EXPECT_TRUE(is_a_fold(*algorithm, request))
                        << to_string(algorithm->collective) << ' ' << algorithm->name << ' ' << size
                        << " shape " << shape;
                }
            }
        }
    }
    EXPECT_EQ(folding, 6);
}

// Each collective that reduces has one that folds, whatever the request; and the test can fail.
TEST(Folds, AreThereForEveryReduction) {
    for (int number = 0; number < kCollectives; ++number) {
        const auto collective = static_cast<Collective>(number);
        bool any = false;
        for (const Algorithm* algorithm : algorithms(collective)) {
            Request request;
            request.collective = collective;
            request.size = 6;
            request.commutative = false;
            any = any || (algorithm->folds && refuses(*algorithm, request) == nullptr);
        }
        EXPECT_EQ(any, reduces(collective)) << to_string(collective);
    }
    Request request;
    request.size = 6;
    EXPECT_FALSE(is_a_fold(*find(Collective::kAllreduce, "recursive_doubling"), request));
    EXPECT_FALSE(is_a_fold(*find(Collective::kAllreduce, "ring"), request));
}

}  // namespace
}  // namespace beeline::coll::plan
