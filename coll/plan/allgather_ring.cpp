// SPDX-License-Identifier: BSD-3-Clause
// Allgather around a ring. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// p-1 steps, each of one block, between neighbours only.
#include "coll/pattern/ring.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "ring");
    const int size = request.size;
    const int rank = request.rank;
    const auto block = [&](int step) {
        return emit.output(index(pattern::ring_back(size, rank, step)));
    };
    const Place given = request.in_place ? block(0) : emit.input();
    const auto receive = [&](int step) {
        if (step < size) {
            emit.receive(pattern::ring_previous(size, rank), block(step));
        }
    };
    receive(1);
    for (int step = 0; step + 1 < size; ++step) {
        receive(step + 2);
        emit.send(pattern::ring_next(size, rank), step == 0 ? given : block(step));
    }
    emit.copy(block(0), given);
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {p - 1, (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAllgatherRing = {Collective::kAllgather,
                                            "ring",
                                            "Thakur, Rabenseifner and Gropp 2005",
                                            false,
                                            never,
                                            build,
                                            cost};

}  // namespace beeline::coll::plan
