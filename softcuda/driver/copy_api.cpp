// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of copies.
#include "softcuda/driver/context.hpp"
#include "softcuda/driver/copy.hpp"
#include "softcuda/driver/driver.hpp"

namespace softcuda {
namespace {

Rectangle line(uint64_t bytes) {
    return {bytes, 1, bytes, bytes};
}

uint64_t number(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

/** First byte of one side of a rectangle copy; false: the memory type is not one we have. */
bool start_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y,
              size_t pitch, uint64_t* out) {
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            *out = number(host) + y * pitch + x;
            return true;
        case CU_MEMORYTYPE_DEVICE:
        case CU_MEMORYTYPE_UNIFIED:
            *out = device + y * pitch + x;
            return true;
        case CU_MEMORYTYPE_ARRAY:
            break;
    }
    return false;
}

CUresult copy_rectangle(const CUDA_MEMCPY2D* plan, CUstream stream, Wait wait) {
    uint64_t to = 0;
    uint64_t from = 0;
    if (plan == nullptr ||
        !start_of(plan->srcMemoryType, plan->srcHost, plan->srcDevice, plan->srcXInBytes,
                  plan->srcY, plan->srcPitch, &from) ||
        !start_of(plan->dstMemoryType, plan->dstHost, plan->dstDevice, plan->dstXInBytes,
                  plan->dstY, plan->dstPitch, &to)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // A pitch of 0 stands for rows without gaps.
    const uint64_t from_pitch = plan->srcPitch != 0 ? plan->srcPitch : plan->WidthInBytes;
    const uint64_t to_pitch = plan->dstPitch != 0 ? plan->dstPitch : plan->WidthInBytes;
    if (plan->Height > 1 && (from_pitch < plan->srcXInBytes + plan->WidthInBytes ||
                             to_pitch < plan->dstXInBytes + plan->WidthInBytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return copy(to, from, {plan->WidthInBytes, plan->Height, to_pitch, from_pitch}, stream, wait);
}

/** A copy that names the contexts of both sides; with one address space they are only checked. */
CUresult copy_peer(CUdeviceptr to, CUctx_st* to_context, CUdeviceptr from, CUctx_st* from_context,
                   size_t bytes, CUstream stream, Wait wait) {
    for (CUctx_st* context : {to_context, from_context}) {
        if (!known_context(context)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (!context->alive) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
    }
    return copy(to, from, line(bytes), stream, wait);
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return call(Entry::kMemcpy, Needs::kContext,
                [&] { return copy(dst, src, line(ByteCount), nullptr, Wait::kIfHost); });
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
    return call(Entry::kMemcpyAsync, Needs::kContext,
                [&] { return copy(dst, src, line(ByteCount), hStream, Wait::kNever); });
}

CUresult cuMemcpyHtoD(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
    return call(Entry::kMemcpyHtoD, Needs::kContext, [&] {
        return copy(dstDevice, number(srcHost), line(ByteCount), nullptr, Wait::kIfHost);
    });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                           CUstream hStream) {
    return call(Entry::kMemcpyHtoDAsync, Needs::kContext, [&] {
        return copy(dstDevice, number(srcHost), line(ByteCount), hStream, Wait::kNever);
    });
}

CUresult cuMemcpyDtoH(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return call(Entry::kMemcpyDtoH, Needs::kContext, [&] {
        return copy(number(dstHost), srcDevice, line(ByteCount), nullptr, Wait::kIfHost);
    });
}

CUresult cuMemcpyDtoHAsync(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                           CUstream hStream) {
    return call(Entry::kMemcpyDtoHAsync, Needs::kContext, [&] {
        return copy(number(dstHost), srcDevice, line(ByteCount), hStream, Wait::kNever);
    });
}

CUresult cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return call(Entry::kMemcpyDtoD, Needs::kContext, [&] {
        return copy(dstDevice, srcDevice, line(ByteCount), nullptr, Wait::kIfHost);
    });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                           CUstream hStream) {
    return call(Entry::kMemcpyDtoDAsync, Needs::kContext,
                [&] { return copy(dstDevice, srcDevice, line(ByteCount), hStream, Wait::kNever); });
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
    return call(Entry::kMemcpyPeer, Needs::kContext, [&] {
        // Documented as serialised with all work of both contexts, earlier and later.
        for (CUctx_st* context : {dstContext, srcContext}) {
            if (known_context(context) && context->alive) {
                drain_context(*context);
            }
        }
        const CUresult result = copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount,
                                          nullptr, Wait::kIfHost);
        drain_context(*current_context());
        return result;
    });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
    return call(Entry::kMemcpyPeerAsync, Needs::kContext, [&] {
        return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream,
                         Wait::kNever);
    });
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* pCopy) {
    return call(Entry::kMemcpy2D, Needs::kContext,
                [&] { return copy_rectangle(pCopy, nullptr, Wait::kIfHost); });
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* pCopy) {
    return call(Entry::kMemcpy2DUnaligned, Needs::kContext,
                [&] { return copy_rectangle(pCopy, nullptr, Wait::kIfHost); });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
    return call(Entry::kMemcpy2DAsync, Needs::kContext,
                [&] { return copy_rectangle(pCopy, hStream, Wait::kNever); });
}
