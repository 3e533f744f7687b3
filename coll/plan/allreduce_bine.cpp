// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by a butterfly on negabinary distances. Source: D. De Sensi et al., "Bine trees:
// enhancing collective operations by optimizing communication locality", SC'25, arXiv 2508.17311.
//
// For sizes that are not a power of two the paths of a butterfly meet again, and blocks would be
// counted twice. Here a rank gives a block away in the last step from which it can still reach its
// owner, and keeps nothing of it: proved by the validator for every even size up to kLargest. Steps
// 2 ceil(log2 p); 2(p-1)/p n bytes a rank; reduces (p-1)/p n. Not ordered. Scratch: a vector. Runs
// of blocks that do not follow each other travel as messages of their own.
#include <iterator>

#include "coll/pattern/bine.hpp"
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {
namespace {

/// What one rank gives to and takes from its peer in one step of the reduce-scatter.
struct Exchange {
    int peer = 0;
    std::vector<int> given;
    std::vector<int> taken;
};

std::vector<Exchange> exchanges(int size, int rank) {
    std::vector<Exchange> result;
    for (int exponent = pattern::log2_up(size) - 1; exponent >= 0; --exponent) {
        Exchange step;
        step.peer = pattern::bine_peer(size, rank, exponent);
        const std::vector<int> mine = pattern::bine_reach(size, rank, exponent);
        const std::vector<int> theirs = pattern::bine_reach(size, step.peer, exponent);
        std::set_difference(theirs.begin(), theirs.end(), mine.begin(), mine.end(),
                            std::back_inserter(step.given));
        std::set_difference(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                            std::back_inserter(step.taken));
        result.push_back(std::move(step));
    }
    return result;
}

/// Calls run(first, count) for each run of consecutive blocks.
template <class Run>
void each_run(const std::vector<int>& blocks, Run&& run) {
    for (std::size_t begin = 0; begin < blocks.size();) {
        std::size_t end = begin + 1;
        while (end < blocks.size() && blocks[end] == blocks[end - 1] + 1) {
            ++end;
        }
        run(index(blocks[begin]), static_cast<std::uint32_t>(end - begin));
        begin = end;
    }
}

Schedule build(const Request& request) {
    Emitter emit(request, "bine", request.size);
    emit.copy(emit.output(), emit.own(), index(request.size));
    const std::vector<Exchange> steps = exchanges(request.size, request.rank);
    for (const Exchange& step : steps) {
        each_run(step.taken, [&](std::uint32_t first, std::uint32_t count) {
            emit.receive(step.peer, emit.mirror(0, first), count);
        });
        each_run(step.given, [&](std::uint32_t first, std::uint32_t count) {
            emit.send(step.peer, emit.output(first), count);
        });
        each_run(step.taken, [&](std::uint32_t first, std::uint32_t count) {
            emit.reduce(emit.output(first), emit.output(first), emit.mirror(0, first), count);
        });
    }
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        each_run(step->given, [&](std::uint32_t first, std::uint32_t count) {
            emit.receive(step->peer, emit.output(first), count);
        });
        each_run(step->taken, [&](std::uint32_t first, std::uint32_t count) {
            emit.send(step->peer, emit.output(first), count);
        });
    }
    return emit.take();
}

/// The proof went this far.
constexpr int kLargest = 512;

const char* refuses(const Request& request) noexcept {
    if (request.size > 1 && request.size % 2 != 0) {
        return "the number of ranks is odd";
    }
    if (request.size > kLargest) {
        return "not proved for so many ranks";
    }
    return if_not_commutative(request);
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    const double share = (p - 1) / p * bytes;
    return {2.0 * pattern::log2_up(request.size), 2 * share, share, 0, 0};
}

}  // namespace

constinit const Algorithm kAllreduceBine = {
    Collective::kAllreduce, "bine", "De Sensi et al. 2025", false, refuses, build, cost};

}  // namespace beeline::coll::plan
