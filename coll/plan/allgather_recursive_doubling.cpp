// SPDX-License-Identifier: BSD-3-Clause
// Allgather by recursive doubling. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
//
// log2 p steps, for powers of two; a rank sends p-1 blocks, always as one message.
#include "coll/pattern/doubling.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Schedule build(const Request& request) {
    Emitter emit(request, "recursive_doubling");
    if (!request.in_place) {
        emit.copy(emit.output(index(request.rank)), emit.input());
    }
    for (int distance = 1; distance < request.size; distance *= 2) {
        const int peer = request.rank ^ distance;
        const int mine = request.rank & ~(distance - 1);
        emit.receive(peer, emit.output(index(mine ^ distance)), index(distance));
        emit.send(peer, emit.output(index(mine)), index(distance));
    }
    return emit.take();
}

const char* refuses(const Request& request) noexcept {
    return pattern::fold(request.size).extra == 0 ? nullptr
                                                  : "the number of ranks is not a power of two";
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    const bool many = request.cut == Cut::kScattered;
    return {many ? p - 1 : pattern::doubling_steps(request.size), (p - 1) * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kAllgatherRecursiveDoubling = {Collective::kAllgather,
                                                         "recursive_doubling",
                                                         "Thakur, Rabenseifner and Gropp 2005",
                                                         false,
                                                         refuses,
                                                         build,
                                                         cost};

}  // namespace beeline::coll::plan
