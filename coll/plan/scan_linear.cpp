// SPDX-License-Identifier: BSD-3-Clause
// Scan along a chain, slice after slice: the pipelined prefix sum; see P. Sanders, J. L. Traeff,
// "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.
//
// With s slices p - 2 + s steps of n/s bytes, as much reduced. Ordered. Scratch: a vector.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "linear", 1, request.slices);
    emit.schedule().ordered = true;
    for (std::uint32_t slice = 0; slice < emit.slices(); ++slice) {
        if (request.rank > 0) {
            emit.receive(request.rank - 1, emit.mirror(0, slice));
            emit.reduce(emit.output(slice), emit.mirror(0, slice), emit.own(slice));
        } else {
            emit.copy(emit.output(slice), emit.own(slice));
        }
        if (request.rank + 1 < request.size) {
            emit.send(request.rank + 1, emit.output(slice));
        }
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double slices = request.slices;
    const double steps = request.size > 1 ? request.size - 2 + slices : 0;
    return {steps, steps / slices * bytes, steps / slices * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kScanLinear = {
    Collective::kScan, "linear", "Sanders and Traeff 2006", true, never, build, cost, true};

}  // namespace beeline::coll::plan
