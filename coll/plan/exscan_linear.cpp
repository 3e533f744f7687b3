// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan along a chain, slice after slice: the pipelined prefix sum; see P. Sanders, J. L.
// Traeff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.
//
// With s slices p - 2 + s steps of n/s bytes, as much reduced. Ordered. Scratch: two vectors at
// most. The output of rank 0 stays as it is.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "linear", 1, request.slices);
    emit.schedule().ordered = true;
    const bool last = request.rank + 1 == request.size;
    for (std::uint32_t slice = 0; slice < emit.slices(); ++slice) {
        if (request.rank == 0) {
            if (!last) {
                emit.send(1, emit.own(slice));
            }
            continue;
        }
        // In place the output still holds what must be added for the next rank.
        const bool aside = request.in_place && !last;
        const Place before = aside ? emit.mirror(1, slice) : emit.output(slice);
        emit.receive(request.rank - 1, before);
        if (!last) {
            emit.reduce(emit.mirror(0, slice), before, emit.own(slice));
            emit.send(request.rank + 1, emit.mirror(0, slice));
        }
        emit.copy(emit.output(slice), before);
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double slices = request.slices;
    const double steps = request.size > 1 ? request.size - 2 + slices : 0;
    return {steps, steps / slices * bytes, steps / slices * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kExscanLinear = {
    Collective::kExscan, "linear", "Sanders and Traeff 2006", true, never, build, cost, true};

}  // namespace beeline::coll::plan
