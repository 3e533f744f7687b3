// SPDX-License-Identifier: BSD-3-Clause
// Recursive doubling allreduce. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005);
// here with neighbouring ranks folded, so that operands keep the rank order for every size.
//
// Every acting pair exchanges whole vectors: log2(power) steps, and two more for sizes that are not
// a power of two. An acting rank sends and reduces the vector once a step. Ordered. Scratch: two
// vectors at most.
#include "coll/pattern/binomial.hpp"
#include "coll/pattern/doubling.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

/// What an acting rank does: exchange 0 is the fold when there is one, then the doubling steps.
class Acting {
 public:
    Acting(Emitter& emit, const Request& request)
        : emit_(emit),
          size_(request.size),
          rank_(request.rank),
          in_place_(request.in_place),
          folds_(pattern::folds_neighbour(size_, rank_)) {}

    void run() {
        const int exchanges = pattern::doubling_steps(size_) + (folds_ ? 1 : 0);
        Place held = emit_.own();
        for (int number = 0; number < exchanges; ++number) {
            if (number == 0) {
                emit_.receive(peer(0), landing(0));
            }
            if (!(folds_ && number == 0)) {
                emit_.send(peer(number), held);
            }
            if (number + 1 < exchanges) {
                emit_.receive(peer(number + 1), landing(number + 1));  // the peer may be there
            }
            const bool peer_is_lower = peer(number) < rank_;
            emit_.reduce(emit_.output(), peer_is_lower ? landing(number) : held,
                         peer_is_lower ? held : landing(number));
            held = emit_.output();
        }
        if (folds_) {
            emit_.send(pattern::fold_partner(rank_), emit_.output());
        }
    }

 private:
    int peer(int number) const noexcept {
        return folds_ && number == 0
                   ? pattern::fold_partner(rank_)
                   : pattern::doubling_peer(size_, rank_, number - (folds_ ? 1 : 0));
    }

    /// Not in place, the first message lands in the output, which nobody needs yet.
    Place landing(int number) {
        if (number == 0 && !in_place_) {
            return emit_.output();
        }
        return emit_.mirror(index((number + (in_place_ ? 0 : 1)) % 2));
    }

    Emitter& emit_;
    int size_;
    int rank_;
    bool in_place_;
    bool folds_;
};

Schedule build(const Request& request) {
    Emitter emit(request, "recursive_doubling");
    emit.schedule().ordered = true;
    if (request.size == 1) {
        emit.copy(emit.output(), emit.own());
    } else if (pattern::folded(request.size, request.rank)) {
        const int partner = pattern::fold_partner(request.rank);
        emit.send(partner, emit.own());
        emit.receive(partner, emit.output());
    } else {
        Acting(emit, request).run();
    }
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double steps = pattern::doubling_steps(request.size);
    const double fold = pattern::fold(request.size).extra > 0 ? 1 : 0;
    return {steps + 2 * fold, (steps + fold) * bytes, (steps + fold) * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kAllreduceRecursiveDoubling = {Collective::kAllreduce,
                                                         "recursive_doubling",
                                                         "Thakur, Rabenseifner and Gropp 2005",
                                                         false,
                                                         never,
                                                         build,
                                                         cost};

}  // namespace beeline::coll::plan
