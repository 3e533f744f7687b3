// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives with everything under way at once: T. Hoefler, J. L. Traeff, "Sparse
// collective operations for MPI", HIPS 2009.
//
// One step; a rank sends a block to each of its targets. An edge from a rank to itself is a copy.
#include <algorithm>

#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

Place given(Emitter& emit, const Request& request, std::size_t target) {
    return request.collective == Collective::kNeighborAllgather
               ? emit.input()
               : emit.input(static_cast<std::uint32_t>(target));
}

/// The target that source `source`, an edge from this rank to itself, is the other end of; as many
/// targets as there are when there is none.
std::size_t own_target(const Request& request, std::size_t source) {
    const Edge& edge = request.sources[source];
    const auto same = [&](const Edge& other) {
        return other.peer == edge.peer && other.channel == edge.channel;
    };
    auto turn = std::count_if(request.sources.begin(),
                              request.sources.begin() + static_cast<std::ptrdiff_t>(source), same);
    for (std::size_t target = 0; target < request.targets.size(); ++target) {
        if (same(request.targets[target]) && turn-- == 0) {
            return target;
        }
    }
    return request.targets.size();
}

Schedule build(const Request& request) {
    Emitter emit(request, "direct");
    for (std::size_t source = 0; source < request.sources.size(); ++source) {
        const Edge& edge = request.sources[source];
        if (edge.peer != request.rank) {
            emit.receive(edge.peer, emit.output(static_cast<std::uint32_t>(source)), 1,
                         edge.channel);
        }
    }
    for (std::size_t target = 0; target < request.targets.size(); ++target) {
        const Edge& edge = request.targets[target];
        if (edge.peer != request.rank) {
            emit.send(edge.peer, given(emit, request, target), 1, edge.channel);
        }
    }
    for (std::size_t source = 0; source < request.sources.size(); ++source) {
        if (request.sources[source].peer == request.rank) {
            emit.copy(emit.output(static_cast<std::uint32_t>(source)),
                      given(emit, request, own_target(request, source)));
        }
    }
    return emit.take();
}

const char* refuses(const Request& request) noexcept {
    const auto in_world = [&](const Edge& edge) {
        return edge.peer >= 0 && edge.peer < request.size && edge.channel >= 0;
    };
    if (!std::all_of(request.sources.begin(), request.sources.end(), in_world) ||
        !std::all_of(request.targets.begin(), request.targets.end(), in_world)) {
        return "a neighbour is not in the communicator";
    }
    for (std::size_t source = 0; source < request.sources.size(); ++source) {
        if (request.sources[source].peer == request.rank &&
            own_target(request, source) == request.targets.size()) {
            return "an edge from a rank to itself has one end only";
        }
    }
    return nullptr;
}

Cost cost(const Request& request, double bytes) noexcept {
    const auto targets = static_cast<double>(request.targets.size());
    return {targets > 0 ? 1.0 : 0.0, targets * bytes, 0, 0, 0};
}

}  // namespace

constinit const Algorithm kNeighborAllgatherDirect = {Collective::kNeighborAllgather,
                                                      "direct",
                                                      "Hoefler and Traeff 2009",
                                                      false,
                                                      refuses,
                                                      build,
                                                      cost};

constinit const Algorithm kNeighborAlltoallDirect = {Collective::kNeighborAlltoall,
                                                     "direct",
                                                     "Hoefler and Traeff 2009",
                                                     false,
                                                     refuses,
                                                     build,
                                                     cost};

}  // namespace beeline::coll::plan
