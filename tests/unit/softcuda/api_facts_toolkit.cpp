// SPDX-License-Identifier: BSD-3-Clause
// The facts of the CUDA Toolkit's cuda.h.
#include <cuda.h>

#include <cstddef>
#include <typeinfo>

#include "api_facts.hpp"

ApiFacts toolkit_api_facts() {
#include "api_facts.inc"
}
