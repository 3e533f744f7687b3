// SPDX-License-Identifier: BSD-3-Clause
// The facts of the CUDA Toolkit's cuda_runtime_api.h.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <typeinfo>

#include "api_facts.hpp"
#include "runtime_facts.hpp"

ApiFacts toolkit_runtime_facts() {
#include "runtime_facts.inc"
}
