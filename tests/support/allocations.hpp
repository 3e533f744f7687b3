// SPDX-License-Identifier: BSD-3-Clause
// How often a test program has asked for memory with new.
#pragma once

#include <cstdint>

namespace beeline::test {

/// Of this process so far, in all its threads. Only in programs with allocations.cpp among their
/// sources.
std::uint64_t allocations() noexcept;

}  // namespace beeline::test
