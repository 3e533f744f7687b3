// SPDX-License-Identifier: BSD-3-Clause
// Bruck's all-to-all for short blocks. Source: J. Bruck et al., "Efficient algorithms for
// all-to-all communications in multiport message-passing systems", IEEE TPDS 8 (1997).
//
// A block that must go d ranks further goes the powers of two of d. ceil(log2 p) steps; a rank
// sends about p/2 blocks in each, packed into one message. Equal blocks only. Scratch: 2p blocks.
#include <vector>

#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "bruck");
    const int size = request.size;
    const auto chunks = index(size);
    // By distance still named at the start: where the block is now. Slots: p for blocks that have
    // come, then half of p to pack and half to receive.
    const std::uint32_t half = (chunks + 1) / 2;
    std::vector<Place> at;
    at.reserve(chunks);
    for (int distance = 0; distance < size; ++distance) {
        at.push_back(emit.own(index(next(request, distance))));
    }
    for (int step = 1; step < size; step *= 2) {
        std::vector<std::uint32_t> moving;
        for (std::uint32_t distance = 0; distance < chunks; ++distance) {
            if ((distance & index(step)) != 0) {
                emit.copy(emit.slot(chunks + index(static_cast<int>(moving.size())), 0),
                          at[distance]);
                moving.push_back(distance);
            }
        }
        const auto count = static_cast<std::uint32_t>(moving.size());
        emit.receive(previous(request, step), emit.slot(chunks + half, 0), count);
        emit.send(next(request, step), emit.slot(chunks, 0), count);
        for (std::uint32_t i = 0; i < count; ++i) {
            at[moving[i]] = emit.slot(moving[i], 0);
            emit.copy(at[moving[i]], emit.slot(chunks + half + i, 0));
        }
    }
    for (int distance = 0; distance < size; ++distance) {
        emit.copy(emit.output(index(previous(request, distance))),
                  at[static_cast<std::size_t>(distance)]);
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double steps = pattern::log2_up(request.size);
    const int moved = (request.size + 1) / 2;  // blocks a step, at most
    return {steps, steps * moved * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAlltoallBruck = {
    Collective::kAlltoall, "bruck", "Bruck et al. 1997", false, unless_equal, build, cost};

}  // namespace beeline::coll::plan
