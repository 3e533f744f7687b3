// SPDX-License-Identifier: BSD-3-Clause
// The host twin of the kernel that runtime_test launches.
#include "softcuda/include/softcuda_kernel.hpp"

static void runtime_test_scale(float* values, float factor, int count) {
    for (unsigned i = blockIdx.x; i < static_cast<unsigned>(count); i += gridDim.x) {
        *softcuda::translate(values + i) *= factor;
    }
}

SOFTCUDA_TWIN(runtime_test_scale)
