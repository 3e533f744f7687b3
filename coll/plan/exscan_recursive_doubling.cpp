// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan by recursive doubling. Source: W. D. Hillis, G. L. Steele, "Data parallel
// algorithms", Communications of the ACM 29 (1986).
//
// As the scan of that name, and what comes in is summed once more without the own contribution.
// ceil(log2 p) steps of n bytes, twice as much reduced. Ordered. Scratch: three vectors. The output
// of rank 0 is undefined.
#include "coll/pattern/binomial.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "recursive_doubling");
    emit.schedule().ordered = true;
    const int size = request.size;
    const int rank = request.rank;
    Place sum = emit.own();
    if (request.in_place && rank > 0 && rank + 1 < size) {
        sum = emit.mirror(2);
        emit.copy(sum, emit.own());
    }
    bool found = false;
    std::uint32_t step = 0;
    for (int distance = 1; distance < size; distance *= 2, ++step) {
        const Place landing = emit.mirror(step % 2);
        const bool receives = rank >= distance;
        if (receives) {
            emit.receive(rank - distance, landing);
        }
        if (rank + distance < size) {
            emit.send(rank + distance, sum);
        }
        if (!receives) {
            continue;
        }
        if (rank + 2 * distance < size) {
            emit.reduce(emit.mirror(2), landing, sum);
            sum = emit.mirror(2);
        }
        found ? emit.reduce(emit.output(), landing, emit.output())
              : emit.copy(emit.output(), landing);
        found = true;
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double steps = pattern::log2_up(request.size);
    return {steps, steps * bytes, 2 * steps * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kExscanRecursiveDoubling = {
    Collective::kExscan, "recursive_doubling", "Hillis and Steele 1986", false, never, build, cost};

}  // namespace beeline::coll::plan
