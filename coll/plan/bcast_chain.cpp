// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a chain, slice after slice. The pipelined algorithm of long vectors on few ranks:
// see S. Johnsson, C.-T. Ho, "Optimum broadcasting and personalized communication in hypercubes",
// IEEE Trans. Computers 38 (1989).
//
// With s slices p - 2 + s steps of n/s bytes.
#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "chain", 1, request.slices);
    const int self = pattern::from_root(request.size, request.rank, request.root);
    const auto receive = [&](std::uint32_t slice) {
        if (self > 0 && slice < emit.slices()) {
            emit.receive(previous(request, 1), emit.output(slice));
        }
    };
    receive(0);
    for (std::uint32_t slice = 0; slice < emit.slices(); ++slice) {
        receive(slice + 1);
        if (self + 1 < request.size) {
            emit.send(next(request, 1), emit.output(slice));
        }
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double slices = request.slices;
    const double steps = request.size > 1 ? request.size - 2 + slices : 0;
    return {steps, steps / slices * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kBcastChain = {
    Collective::kBcast, "chain", "Johnsson and Ho 1989", true, never, build, cost};

}  // namespace beeline::coll::plan
