// SPDX-License-Identifier: BSD-3-Clause
// Inputs of reductions whose results are exact in every order, for every type and operation.
#pragma once

#include <cstddef>

#include "coll/kernel/types.hpp"

namespace beeline::world {

/// Writes one element at `at`: what `rank` contributes as number `index`. Results of up to eight
/// ranks are exact. Gaps become zero.
void write_element(coll::kernel::Type type, coll::kernel::Op op, std::size_t index, int rank,
                   void* at);

}  // namespace beeline::world
