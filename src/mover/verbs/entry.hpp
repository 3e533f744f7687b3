// SPDX-License-Identifier: BSD-3-Clause
// What the cache of registrations keeps; for its own files.
#pragma once

#include <array>

#include "mover/verbs/regions.hpp"

namespace beeline::mover::verbs {

/// A registration, or what is known of memory that was refused.
struct Regions::Entry : Region {
    memory::Pointer where;
    Extent extent;
    RailSet asked = 0;                         // rails it was tried on
    std::array<ibv_mr*, kMaxRails> handles{};  // by Port::device
    Refusal refusal;                           // where it is registered nowhere
    unsigned retry_in = 0;                     // uses
    Entries::iterator self;
};

}  // namespace beeline::mover::verbs
