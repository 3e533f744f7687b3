// SPDX-License-Identifier: BSD-3-Clause
// The cost model: what a schedule's steps, bytes and reductions take.
#pragma once

#include "coll/plan/algorithm.hpp"

namespace beeline::coll::select {

/// The bytes of a block that choices assume where no rank knows the sizes of all.
inline constexpr double kUnknownBytes = 65536;

/// One class of links: a message of n bytes takes alpha + n * beta.
struct Link {
    double alpha = 0;  ///< seconds
    double beta = 0;   ///< seconds a byte
};

/// What a machine does, after R. Hockney, "The communication challenge for MPP", 1994, with a term
/// for reductions.
struct Model {
    Link inside{4e-6, 1.0 / 20e9};  ///< inside a node
    Link across{8e-6, 1.0 / 10e9};  ///< between nodes
    double gamma = 1.0 / 200e9;     ///< seconds a reduced byte
};

/// Seconds that a schedule of this cost takes. Schedules that don't count apart what crosses nodes
/// use the slower links for all when there are `several_nodes`.
constexpr double predict(const plan::Cost& cost, bool several_nodes,
                         const Model& model = {}) noexcept {
    const bool apart = cost.across_steps > 0;
    const Link& link = several_nodes && !apart ? model.across : model.inside;
    return cost.steps * link.alpha + cost.bytes * link.beta +
           cost.across_steps * model.across.alpha + cost.across_bytes * model.across.beta +
           cost.reduced * model.gamma;
}

}  // namespace beeline::coll::select
