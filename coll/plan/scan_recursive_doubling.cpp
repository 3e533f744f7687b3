// SPDX-License-Identifier: BSD-3-Clause
// Scan by recursive doubling. Source: W. D. Hillis, G. L. Steele, "Data parallel algorithms",
// Communications of the ACM 29 (1986).
//
// In step k a rank gets the sum of the 2^k ranks below those it has summed already. ceil(log2 p)
// steps of n bytes, as much reduced. Ordered. Scratch: two vectors.
#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "recursive_doubling");
    emit.schedule().ordered = true;
    emit.copy(emit.output(), emit.own());
    std::uint32_t step = 0;
    for (int distance = 1; distance < request.size; distance *= 2, ++step) {
        const Place landing = emit.mirror(step % 2);
        const bool receives = request.rank >= distance;
        if (receives) {
            emit.receive(request.rank - distance, landing);
        }
        if (request.rank + distance < request.size) {
            emit.send(request.rank + distance, emit.output());
        }
        if (receives) {
            emit.reduce(emit.output(), landing, emit.output());
        }
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double steps = pattern::log2_up(request.size);
    return {steps, steps * bytes, steps * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kScanRecursiveDoubling = {
    Collective::kScan, "recursive_doubling", "Hillis and Steele 1986", false, never, build, cost};

}  // namespace beeline::coll::plan
