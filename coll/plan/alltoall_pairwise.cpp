// SPDX-License-Identifier: BSD-3-Clause
// All-to-all as a sequence of exchanges, a few at a time. Source: R. Thakur, R. Rabenseifner, W.
// Gropp, "Optimization of collective communication operations in MPICH", Int. J. High Perform.
// Comput. Appl. 19 (2005).
//
// p-1 steps of one block (p in place); a step waits for the one kWindow before it, so that a rank
// has few messages under way whatever p is. In place two ranks exchange in the same step, through
// kWindow slots.
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

constexpr int kWindow = 4;

Schedule build(const Request& request) {
    Emitter emit(request, "pairwise");
    const int size = request.size;
    std::int32_t sent[kWindow] = {kNone, kNone, kNone, kNone};
    std::int32_t received[kWindow] = {kNone, kNone, kNone, kNone};
    for (int step = request.in_place ? 0 : 1; step < size; ++step) {
        const int pair = (step - request.rank + size) % size;
        const int to = request.in_place ? pair : next(request, step);
        const int from = request.in_place ? pair : previous(request, step);
        if (to == request.rank) {
            continue;
        }
        const int turn = step % kWindow;
        Place given = emit.input(index(to));
        if (request.in_place) {
            given = emit.slot(index(turn), index(to));
            emit.copy(given, emit.output(index(to)));
        }
        emit.hold_for(sent[turn]);
        emit.hold_for(received[turn]);
        emit.receive(from, emit.output(index(from)));
        received[turn] = emit.last();
        emit.hold_for(sent[turn]);
        emit.send(to, given);
        sent[turn] = emit.last();
    }
    if (!request.in_place) {
        emit.copy(emit.output(index(request.rank)), emit.input(index(request.rank)));
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p - (request.in_place ? 0 : 1), (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAlltoallPairwise = {Collective::kAlltoall,
                                               "pairwise",
                                               "Thakur, Rabenseifner and Gropp 2005",
                                               false,
                                               never,
                                               build,
                                               cost};

}  // namespace beeline::coll::plan
