// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm on real data: run by the executor over a loopback transport and compared with
// what the collective says, for counts and blocks of many lengths.
#include <gtest/gtest.h>

#include <numeric>

#include "coll/exec/host_driven.hpp"
#include "coll/exec/host_engine.hpp"
#include "coll/plan/algorithm.hpp"
#include "coll/plan/loaded.hpp"
#include "tests/model/coll/builders.hpp"
#include "tests/world/loopback.hpp"

namespace beeline::world {
namespace {

using namespace coll::plan;

using Block = std::vector<int>;
using Blocks = std::vector<Block>;

/// One call of a collective on `size` ranks: what each gives and wants.
struct Call {
    Collective collective;
    int size = 1;
    int root = 0;
    Cut cut = Cut::kEqual;
    bool in_place = false;
    std::size_t count = 0;

    /// The length of what `from` has for `to` (-1: for anybody).
    std::size_t length(int from, int to) const {
        if (on_vector(collective) || cut == Cut::kEqual) {
            return count;
        }
        // In place two ranks exchange as much as they get.
        const int low = in_place && to >= 0 ? std::min(from, to) : from;
        const int high = in_place && to >= 0 ? std::max(from, to) : to;
        return (count + static_cast<std::size_t>(3 * low + 5 * (high + 1))) % 5;
    }

    Block block(int from, int to) const {
        Block content(length(from, to));
        std::iota(content.begin(), content.end(), from * 10000 + (to + 1) * 100);
        return content;
    }

    /// The block of a vector of contributions that goes to `to`.
    Block part(int from, int to) const {
        Block content(length(to, -1));
        std::iota(content.begin(), content.end(), from * 10000 + to * 100);
        return content;
    }

    Block sum(int ranks, int to) const {
        Block total = to < 0 ? block(0, -1) : part(0, to);
        for (int rank = 1; rank < ranks; ++rank) {
            const Block more = to < 0 ? block(rank, -1) : part(rank, to);
            for (std::size_t i = 0; i < total.size(); ++i) {
                total[i] += more[i];
            }
        }
        return total;
    }

    template <class One>
    Blocks of_all(One&& one) const {
        Blocks blocks;
        for (int rank = 0; rank < size; ++rank) {
            blocks.push_back(one(rank));
        }
        return blocks;
    }

    Blocks given(int rank) const {
        switch (collective) {
            case Collective::kBarrier:
                return {};
            case Collective::kBcast:
                return {block(root, -1)};
            case Collective::kReduceScatter:
                return of_all([&](int to) { return part(rank, to); });
            case Collective::kAlltoall:
                return of_all([&](int to) { return block(rank, to); });
            case Collective::kScatter:
                return of_all([&](int to) { return block(to, -1); });
            default:
                return {block(rank, -1)};
        }
    }

    Blocks wanted(int rank) const {
        switch (collective) {
            case Collective::kAllreduce:
            case Collective::kReduce:
                return {sum(size, -1)};
            case Collective::kBcast:
                return {block(root, -1)};
            case Collective::kAllgather:
            case Collective::kGather:
                return of_all([&](int from) { return block(from, -1); });
            case Collective::kReduceScatter:
                return {sum(size, rank)};
            case Collective::kAlltoall:
                return of_all([&](int from) { return block(from, rank); });
            case Collective::kScatter:
                return {block(rank, -1)};
            case Collective::kScan:
                return {sum(rank + 1, -1)};
            case Collective::kExscan:
                return {sum(rank, -1)};
            default:
                return {};
        }
    }
};

/// Blocks in one piece of memory.
struct Memory {
    Block data;
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displacements;

    Memory(const Blocks& blocks, Cut cut) {
        const std::size_t gap = cut == Cut::kScattered ? 2 : 0;
        displacements.resize(blocks.size());
        for (const Block& block : blocks) {
            counts.push_back(block.size());
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            // Scattered blocks lie in reverse order.
            const std::size_t turn = gap > 0 ? blocks.size() - 1 - i : i;
            displacements[turn] = data.size();
            data.insert(data.end(), blocks[turn].begin(), blocks[turn].end());
            data.insert(data.end(), gap, -7);
        }
    }

    BlockTable table() const { return {counts, displacements}; }

    void clear() {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            clear(i);
        }
    }
    void clear(std::size_t i) {
        std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(displacements[i]), counts[i], -1);
    }
    void put(std::size_t i, const Block& block) {
        std::copy(block.begin(), block.end(),
                  data.begin() + static_cast<std::ptrdiff_t>(displacements[i]));
    }
};

/// Runs one rank of a call and checks its output.
void run_rank(const Algorithm& algorithm, const Call& call, Request request,
              coll::exec::Transport& transport) {
    const int rank = request.rank;
    const auto self = static_cast<std::size_t>(rank);
    const Schedule schedule = algorithm.build(request);
    const Blocks given = call.given(rank);
    const Memory input(given, call.cut);
    const Memory expected(call.wanted(rank), call.cut);
    Memory output = expected;
    output.clear();
    if (schedule.in_place && call.collective != Collective::kScatter) {
        for (std::size_t i = 0; i < given.size(); ++i) {
            output.put(given.size() == output.counts.size() ? i : self, given[i]);
        }
    } else if (call.collective == Collective::kBcast && rank == call.root) {
        output.put(0, given[0]);
    }
    coll::exec::Data data;
    data.input = input.data.data();
    data.output = output.data.data();
    data.sizes = {call.count, input.table(), output.table()};
    if (call.cut != Cut::kEqual && !on_vector(call.collective)) {
        data.sizes.count = call.length(rank, -1);
    }
    data.element = sizeof(int);
    data.type = coll::kernel::Type::kI32;
    coll::exec::HostEngine engine;
    coll::exec::HostDriven executor;
    ASSERT_EQ(executor.run(schedule, data, engine, transport), Status::kOk);
    const bool has_result =
        schedule.output_blocks > 0 && !(call.collective == Collective::kExscan && rank == 0);
    if (has_result) {
        EXPECT_EQ(output.data, expected.data)
            << print(schedule) << "count " << call.count << ", root " << call.root;
    }
}

void run(const Algorithm& algorithm, const Call& call) {
    Request request;
    request.collective = call.collective;
    request.size = call.size;
    request.root = call.root;
    request.cut = call.cut;
    request.in_place = call.in_place;
    request.slices = call.size % 3 + 1;
    std::vector<int> nodes;
    for (int rank = 0; rank < call.size; ++rank) {
        nodes.push_back(rank < 3 ? 0 : 1 + (rank - 3) / 2);
    }
    request.node_of = nodes;
    if (refuses(algorithm, request) != nullptr) {
        return;
    }
    Loopback world(call.size, {static_cast<std::uint64_t>(call.size) + call.count});
    world.run([&](int rank) {
        Request here = request;
        here.rank = rank;
        run_rank(algorithm, call, here, world.transport(rank));
    });
    EXPECT_EQ(world.unmatched(), 0U);
}

class OnData : public testing::TestWithParam<const Algorithm*> {};

TEST_P(OnData, TheResultIsRight) {
    const Collective collective = GetParam()->collective;
    for (const int size : {1, 2, 3, 4, 6, 8, 9}) {
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{67}}) {
            for (const bool in_place : {false, true}) {
                const int root = rooted(collective) ? static_cast<int>(count) % size : 0;
                Call call{collective, size, root, Cut::kEqual, in_place, count};
                run(*GetParam(), call);
                for (const Cut cut : {Cut::kVarying, Cut::kScattered}) {
                    if (!on_vector(collective)) {
                        call.cut = cut;
                        run(*GetParam(), call);
                    }
                }
            }
        }
    }
}

/// The schedules of all ranks, as a file that was exported brings them.
Imported as_imported(const Algorithm& algorithm, const Call& call) {
    Imported imported;
    Request request;
    request.collective = call.collective;
    request.size = call.size;
    request.root = call.root;
    request.in_place = call.in_place;
    request.slices = 2;
    const std::vector<int> nodes(static_cast<std::size_t>(call.size), 0);
    request.node_of = nodes;
    for (; request.rank < call.size && refuses(algorithm, request) == nullptr; ++request.rank) {
        imported.world.push_back(algorithm.build(request));
    }
    return imported;
}

// Counts that are no multiple of the chunks, in place where the file is not and the other way
// round.
TEST_P(OnData, TheResultOfAFileIsRight) {
    const Collective collective = GetParam()->collective;
    for (const int size : {2, 3, 4, 8}) {
        for (const bool file_in_place : {false, true}) {
            const int root = rooted(collective) ? size / 2 : 0;
            Call call{collective, size, root, Cut::kEqual, file_in_place, 0};
            Imported imported = as_imported(*GetParam(), call);
            if (imported.world.empty()) {
                continue;
            }
            Loaded loaded(collective, "mine");
            ASSERT_EQ(loaded.add(std::move(imported)), "");
            for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{67}}) {
                for (const Cut cut : {Cut::kEqual, Cut::kVarying, Cut::kScattered}) {
                    for (const bool in_place : {false, true}) {
                        call.count = count;
                        call.cut = cut;
                        call.in_place = in_place;
                        if (cut == Cut::kEqual || !on_vector(collective)) {
                            run(loaded.algorithm(), call);
                        }
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, OnData, testing::ValuesIn(all_but_neighbors()),
                         [](const auto& instance) { return name_of(instance); });

// On a ring of two both neighbours are the same rank: channels tell its edges apart.
TEST(OnNeighbors, EdgesFindTheirOtherEnds) {
    for (const int size : {1, 2, 3, 5}) {
        Loopback world(size);
        world.run([&](int rank) {
            const int left = (rank + size - 1) % size;
            const int right = (rank + 1) % size;
            const Edge sources[] = {{left, 0}, {right, 1}};
            const Edge targets[] = {{left, 1}, {right, 0}};
            Request request;
            request.collective = Collective::kNeighborAlltoall;
            request.size = size;
            request.rank = rank;
            request.sources = sources;
            request.targets = targets;
            const Algorithm& algorithm = *find(request.collective, "direct");
            ASSERT_EQ(refuses(algorithm, request), nullptr);
            const int input[] = {rank * 10, rank * 10 + 1};
            int output[] = {-1, -1};
            coll::exec::Data data{input,
                                  output,
                                  {1, {}, {}},
                                  sizeof(int),
                                  coll::kernel::Type::kI32,
                                  coll::kernel::Op::kSum};
            coll::exec::HostEngine engine;
            coll::exec::HostDriven executor;
            ASSERT_EQ(executor.run(algorithm.build(request), data, engine, world.transport(rank)),
                      Status::kOk);
            EXPECT_EQ(output[0], left * 10 + 1);  // what the left one sent to its right
            EXPECT_EQ(output[1], right * 10);
        });
        EXPECT_EQ(world.unmatched(), 0U);
    }
}

}  // namespace
}  // namespace beeline::world
