// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of fills.
#include "softcuda/driver/copy.hpp"
#include "softcuda/driver/driver.hpp"

using namespace softcuda;

CUresult cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
    return call(Entry::kMemsetD8, Needs::kContext,
                [&] { return fill(dstDevice, 0, uc, 1, N, 1, nullptr, Wait::kIfHost); });
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
    return call(Entry::kMemsetD8Async, Needs::kContext,
                [&] { return fill(dstDevice, 0, uc, 1, N, 1, hStream, Wait::kNever); });
}

CUresult cuMemsetD2D8(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                      size_t Height) {
    return call(Entry::kMemsetD2D8, Needs::kContext, [&] {
        return fill(dstDevice, dstPitch, uc, 1, Width, Height, nullptr, Wait::kIfHost);
    });
}

CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                           size_t Height, CUstream hStream) {
    return call(Entry::kMemsetD2D8Async, Needs::kContext, [&] {
        return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, Wait::kNever);
    });
}

CUresult cuMemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t N) {
    return call(Entry::kMemsetD16, Needs::kContext,
                [&] { return fill(dstDevice, 0, us, 2, N, 1, nullptr, Wait::kIfHost); });
}

CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
    return call(Entry::kMemsetD16Async, Needs::kContext,
                [&] { return fill(dstDevice, 0, us, 2, N, 1, hStream, Wait::kNever); });
}

CUresult cuMemsetD2D16(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                       size_t Height) {
    return call(Entry::kMemsetD2D16, Needs::kContext, [&] {
        return fill(dstDevice, dstPitch, us, 2, Width, Height, nullptr, Wait::kIfHost);
    });
}

CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                            size_t Height, CUstream hStream) {
    return call(Entry::kMemsetD2D16Async, Needs::kContext, [&] {
        return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, Wait::kNever);
    });
}

CUresult cuMemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
    return call(Entry::kMemsetD32, Needs::kContext,
                [&] { return fill(dstDevice, 0, ui, 4, N, 1, nullptr, Wait::kIfHost); });
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
    return call(Entry::kMemsetD32Async, Needs::kContext,
                [&] { return fill(dstDevice, 0, ui, 4, N, 1, hStream, Wait::kNever); });
}

CUresult cuMemsetD2D32(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                       size_t Height) {
    return call(Entry::kMemsetD2D32, Needs::kContext, [&] {
        return fill(dstDevice, dstPitch, ui, 4, Width, Height, nullptr, Wait::kIfHost);
    });
}

CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                            size_t Height, CUstream hStream) {
    return call(Entry::kMemsetD2D32Async, Needs::kContext, [&] {
        return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, Wait::kNever);
    });
}
