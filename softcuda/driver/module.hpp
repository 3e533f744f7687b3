// SPDX-License-Identifier: BSD-3-Clause
// Modules and the kernels in them.
#pragma once

#include <string>
#include <vector>

#include "softcuda/driver/context.hpp"
#include "softcuda/include/softcuda_kernel.hpp"

/** A kernel of a module: its host twin. */
struct CUfunc_st {
    CUmod_st* module;
    std::string name;
    const SoftcudaKernel* twin;
};

/** A loaded module. The image itself is not looked into. */
struct CUmod_st {
    CUctx_st* context;
    bool loaded;
    std::vector<CUfunc_st*> functions;
};

namespace softcuda {

/** Ends a module whose context is gone; its memory stays, so that stale handles are recognised. */
void forget_module(CUmod_st* module);

/** CUDA_SUCCESS if `function` may be launched. */
CUresult check_function(const CUfunc_st* function);

}  // namespace softcuda
