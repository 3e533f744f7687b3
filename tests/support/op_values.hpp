// SPDX-License-Identifier: BSD-3-Clause
// Operands of reductions: all pairs for types of one byte, every value against special ones for two
// bytes, special against special and many at random for the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/kernel/types.hpp"

namespace beeline::test {

using Bytes = std::vector<unsigned char>;

/// Fills both with the same number of elements. The same at every call.
void operands(coll::kernel::Type type, Bytes& left, Bytes& right);

}  // namespace beeline::test
