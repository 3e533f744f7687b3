// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of user contexts, the context stack and peer access.
#include <algorithm>

#include "softcuda/driver/context.hpp"

using namespace softcuda;

namespace {

CUresult create_user_context(CUcontext* out, unsigned flags, CUdevice dev) {
    Device* of = device(dev);
    if (of == nullptr || out == nullptr || (flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) {
        return of == nullptr && out != nullptr ? CUDA_ERROR_INVALID_DEVICE
                                               : CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard lock(contexts_mutex());
    CUctx_st* context = make_context(*of, false);
    activate(*context, flags);
    context_stack().push_back(context);
    *out = context;
    return CUDA_SUCCESS;
}

}  // namespace

CUresult cuCtxCreate(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
                     CUdevice dev) {
    return call(Entry::kCtxCreate, Needs::kDriver, [&] {
        if (ctxCreateParams != nullptr && (ctxCreateParams->numExecAffinityParams != 0 ||
                                           ctxCreateParams->cigParams != nullptr)) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        return create_user_context(pctx, flags, dev);
    });
}

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    return call(Entry::kCtxCreate, Needs::kDriver,
                [&] { return create_user_context(pctx, flags, dev); });
}

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams,
                        unsigned int flags, CUdevice dev) {
    return call(Entry::kCtxCreate, Needs::kDriver, [&] {
        return paramsArray != nullptr || numParams != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
                                                        : create_user_context(pctx, flags, dev);
    });
}

CUresult cuCtxDestroy(CUcontext ctx) {
    return call(Entry::kCtxDestroy, Needs::kDriver, [&] {
        if (!known_context(ctx)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (ctx->primary || !ctx->alive) {
            return ctx->primary ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        deactivate(*ctx);
        if (current_context() == ctx) {
            context_stack().pop_back();
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPushCurrent(CUcontext ctx) {
    return call(Entry::kCtxPushCurrent, Needs::kDriver, [&] {
        if (!known_context(ctx)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (!ctx->alive) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        context_stack().push_back(ctx);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPopCurrent(CUcontext* pctx) {
    return call(Entry::kCtxPopCurrent, Needs::kDriver, [&] {
        if (context_stack().empty()) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (pctx != nullptr) {
            *pctx = context_stack().back();
        }
        context_stack().pop_back();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
    return call(Entry::kCtxSetCurrent, Needs::kDriver, [&] {
        if (ctx == current_context()) {
            return CUDA_SUCCESS;
        }
        if (ctx != nullptr && !known_context(ctx)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (ctx != nullptr && !ctx->alive) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        if (!context_stack().empty()) {
            context_stack().pop_back();
        }
        if (ctx != nullptr) {
            context_stack().push_back(ctx);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
    return call(Entry::kCtxGetCurrent, Needs::kDriver, [&] {
        if (pctx == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *pctx = current_context();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice* device) {
    return call(Entry::kCtxGetDevice, Needs::kContext, [&] {
        if (device == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *device = current_context()->device->ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetFlags(unsigned int* flags) {
    return call(Entry::kCtxGetFlags, Needs::kContext, [&] {
        if (flags == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *flags = current_context()->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetFlags(unsigned int flags) {
    return call(Entry::kCtxSetFlags, Needs::kContext, [&] {
        if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        current_context()->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
    return call(Entry::kCtxGetId, Needs::kDriver, [&] {
        CUctx_st* context = ctx != nullptr ? ctx : current_context();
        if (ctxId == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (context == nullptr || !known_context(context)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (!context->alive) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        *ctxId = context->id;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
    return call(Entry::kCtxGetApiVersion, Needs::kDriver, [&] {
        if (version == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (ctx != nullptr && !known_context(ctx)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        *version = 3020;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSynchronize(void) {
    return call(Entry::kCtxSynchronize, Needs::kNoCapture, [&] {
        drain_context(*current_context());
        return check_context();
    });
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    return call(Entry::kCtxEnablePeerAccess, Needs::kContext, [&] {
        CUctx_st& context = *current_context();
        if (Flags != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (peerContext == &context || !known_context(peerContext) || !peerContext->alive) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (!can_access_peer(context.device->physical, peerContext->device->physical)) {
            return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
        }
        const std::lock_guard lock(context.mutex);
        if (std::find(context.peers.begin(), context.peers.end(), peerContext) !=
            context.peers.end()) {
            return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
        }
        context.peers.push_back(peerContext);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
    return call(Entry::kCtxDisablePeerAccess, Needs::kContext, [&] {
        CUctx_st& context = *current_context();
        if (!known_context(peerContext)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        const std::lock_guard lock(context.mutex);
        return std::erase(context.peers, peerContext) != 0 ? CUDA_SUCCESS
                                                           : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return call(Entry::kCtxSetLimit, Needs::kContext, [&] {
        // Limits bound what kernels use of a real device; twins use the host's.
        (void)value;
        return limit >= 0 && limit <= CU_LIMIT_SHMEM_SIZE ? CUDA_ERROR_UNSUPPORTED_LIMIT
                                                          : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
    return call(Entry::kCtxGetLimit, Needs::kContext, [&] {
        if (pvalue == nullptr || limit < 0 || limit > CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
    return call(Entry::kCtxGetCacheConfig, Needs::kContext, [&] {
        if (pconfig == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *pconfig = CU_FUNC_CACHE_PREFER_NONE;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    return call(Entry::kCtxSetCacheConfig, Needs::kContext, [&] {
        // A preference a device may ignore, and this one has no cache to configure.
        return config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    });
}
