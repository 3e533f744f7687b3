// SPDX-License-Identifier: BSD-3-Clause
// The facts of two cuda_runtime_api.h.
#pragma once

#include "api_facts.hpp"

/** Facts of SoftCUDA's own declarations. */
ApiFacts softcuda_runtime_facts();

/** Facts of the CUDA Toolkit's. */
ApiFacts toolkit_runtime_facts();
