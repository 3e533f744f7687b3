// SPDX-License-Identifier: BSD-3-Clause
// The facts of one cuda.h as a list, so that two of them can be compared.
#pragma once

#include <span>

/** A constant's value, a type's size and tag, a member's offset, or an entry's symbol and
 *  signature. */
struct ApiFact {
    const char* name;
    long long value;
    const char* type;
};
using ApiFacts = std::span<const ApiFact>;

/** Facts of Beeline's own declarations. */
ApiFacts beeline_api_facts();

/** Facts of the CUDA Toolkit's cuda.h. */
ApiFacts toolkit_api_facts();
