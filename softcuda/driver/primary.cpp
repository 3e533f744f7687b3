// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of primary contexts, one for each device.
#include "softcuda/driver/context.hpp"

using namespace softcuda;

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
    return call(Entry::kDevicePrimaryCtxRetain, Needs::kDriver, [&] {
        Device* of = device(dev);
        if (of == nullptr || pctx == nullptr) {
            return of == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(contexts_mutex());
        if (of->primary == nullptr) {
            of->primary = make_context(*of, true);
        }
        CUctx_st& context = *of->primary;
        if (!context.alive) {
            activate(context, context.flags);
        }
        ++context.retained;
        *pctx = &context;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
    return call(Entry::kDevicePrimaryCtxRelease, Needs::kDriver, [&] {
        Device* of = device(dev);
        if (of == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        {
            const std::lock_guard lock(contexts_mutex());
            if (of->primary == nullptr || of->primary->retained == 0) {
                return CUDA_ERROR_INVALID_CONTEXT;
            }
            if (--of->primary->retained > 0) {
                return CUDA_SUCCESS;
            }
        }
        deactivate(*of->primary);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
    return call(Entry::kDevicePrimaryCtxReset, Needs::kDriver, [&] {
        Device* of = device(dev);
        if (of == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        if (of->primary != nullptr) {
            deactivate(*of->primary);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    return call(Entry::kDevicePrimaryCtxSetFlags, Needs::kDriver, [&] {
        Device* of = device(dev);
        if (of == nullptr || (flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) {
            return of == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(contexts_mutex());
        if (of->primary == nullptr) {
            of->primary = make_context(*of, true);
        }
        of->primary->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
    return call(Entry::kDevicePrimaryCtxGetState, Needs::kDriver, [&] {
        Device* of = device(dev);
        if (of == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        if (flags == nullptr || active == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(contexts_mutex());
        *flags = of->primary != nullptr ? of->primary->flags.load() : 0;
        *active = of->primary != nullptr && of->primary->alive ? 1 : 0;
        return CUDA_SUCCESS;
    });
}
