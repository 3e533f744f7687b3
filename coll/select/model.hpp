// SPDX-License-Identifier: BSD-3-Clause
// The cost model: what a schedule's steps, bytes and reductions take. The only place where rates
// are written down; pictures and tools take theirs from here.
#pragma once

#include <algorithm>
#include <span>

#include "coll/plan/algorithm.hpp"

namespace beeline::coll::select {

/// The bytes of a block that choices assume where no rank knows the sizes of all.
inline constexpr double kUnknownBytes = 65536;

/// One class of links: a message of n bytes takes alpha + n * beta.
struct Link {
    double alpha = 0;  ///< seconds
    double beta = 0;   ///< seconds a byte
};

/// What moves and reduces data inside a node: the CPU through shared memory, or GPUs by CUDA IPC.
struct Place {
    Link link;
    double gamma = 0;  ///< seconds a reduced byte
    double start = 0;  ///< seconds to start a message beside others of the same step
};

/// Which of a model's places a call is costed for. It cannot be the memory that a rank passes, as
/// the others may pass another kind: it is a setting, equal on all ranks.
enum class Memory { kDevice, kHost };

/// What a machine does, after R. Hockney, "The communication challenge for MPP", 1994, with a term
/// for reductions. Starting values; a tuning file brings those of a machine.
///   device   a message through CUDA IPC takes a copy or kernel to start and an event to see: 9 us;
///            another one beside it 2 us; then what NVLink 4 gives. A reduction reads two operands
///            and writes one at 3.35 TB/s
///   host     assumed for shared memory between two processes on one socket: a step of a
///            schedule, two copies of each byte
///   across   one host-driven step over a 400 Gb/s network
///   staging  one copy between a device and pageable host memory
struct Model {
    Place device{{9e-6, 1 / 371e9}, 1 / 1117e9, 2e-6};
    Place host{{0.6e-6, 1 / 6e9}, 1 / 8e9, 0.3e-6};
    Link across{6e-6, 1 / 48.5e9};
    Link staging{7e-6, 1 / 10e9};

    const Place& inside(Memory memory) const noexcept {
        return memory == Memory::kHost ? host : device;
    }
};

/// Whether ranks are on more than one node; `node_of` as in plan::Request.
inline bool several_nodes(std::span<const int> node_of) noexcept {
    return std::any_of(node_of.begin(), node_of.end(), [](int node) { return node > 0; });
}

/// Seconds that a schedule of this cost takes. Schedules that don't count apart what crosses nodes
/// use the links between nodes for all when there are `several` nodes.
inline double predict(const plan::Cost& cost, bool several, const Model& model,
                      Memory memory) noexcept {
    const Place& place = model.inside(memory);
    const bool apart = cost.across_steps > 0;
    const Link& link = several && !apart ? model.across : place.link;
    return cost.steps * link.alpha + cost.bytes * link.beta +
           cost.across_steps * model.across.alpha + cost.across_bytes * model.across.beta +
           cost.reduced * place.gamma + std::max(cost.messages - cost.steps, 0.0) * place.start;
}

}  // namespace beeline::coll::select
