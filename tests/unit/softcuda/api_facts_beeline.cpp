// SPDX-License-Identifier: BSD-3-Clause
// The facts of Beeline's own cuda.h.
#include <cuda.h>

#include <cstddef>
#include <typeinfo>

#include "api_facts.hpp"

ApiFacts beeline_api_facts() {
#include "api_facts.inc"
}
