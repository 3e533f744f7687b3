// SPDX-License-Identifier: BSD-3-Clause
// Entries under their oldest exported names: those that behave alike, those that took other
// arguments, and the 32-bit ones, which refuse to truncate an address.
#include "softcuda/driver/legacy.hpp"

#include <cstdio>

#define SOFTCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcuda {
namespace {

/** An entry from before 64-bit addresses was called: whoever looked it up forgot its revision. */
CUresult refuse_32_bit(const char* name) {
    std::fprintf(stderr,
                 "SoftCUDA: the 32-bit entry %s was called; look up %s_v2, or ask "
                 "cuGetProcAddress\n",
                 name, name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUmemLocation location_of(CUdevice device) {
    return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}
                                   : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device};
}

}  // namespace

CUresult legacy_get_proc_address(const char* symbol, void** address, int version,
                                 cuuint64_t flags) {
    return call(Entry::kGetProcAddress, Needs::kNothing,
                [&] { return look_up(symbol, address, version, flags, nullptr); });
}

CUresult legacy_mem_advise(CUdeviceptr address, size_t count, CUmem_advise advice,
                           CUdevice device) {
    return call(Entry::kMemAdvise, Needs::kContext,
                [&] { return advise(address, count, advice, location_of(device)); });
}

CUresult legacy_mem_prefetch_async(CUdeviceptr address, size_t count, CUdevice device,
                                   CUstream stream) {
    return call(Entry::kMemPrefetchAsync, Needs::kContext,
                [&] { return prefetch(address, count, location_of(device), 0, stream); });
}

}  // namespace softcuda

using namespace softcuda;

// The names are given as symbols because the header maps the plain ones to later revisions.
SOFTCUDA_EXPORT CUresult first_DeviceGetUuid(CUuuid* uuid, CUdevice dev) __asm__("cuDeviceGetUuid");
SOFTCUDA_EXPORT CUresult first_DeviceGetUuid(CUuuid* uuid, CUdevice dev) {
    return cuDeviceGetUuid(uuid, dev);
}

SOFTCUDA_EXPORT CUresult
first_DevicePrimaryCtxRelease(CUdevice dev) __asm__("cuDevicePrimaryCtxRelease");
SOFTCUDA_EXPORT CUresult first_DevicePrimaryCtxRelease(CUdevice dev) {
    return cuDevicePrimaryCtxRelease(dev);
}

SOFTCUDA_EXPORT CUresult
first_DevicePrimaryCtxReset(CUdevice dev) __asm__("cuDevicePrimaryCtxReset");
SOFTCUDA_EXPORT CUresult first_DevicePrimaryCtxReset(CUdevice dev) {
    return cuDevicePrimaryCtxReset(dev);
}

SOFTCUDA_EXPORT CUresult first_DevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) __asm__(
    "cuDevicePrimaryCtxSetFlags");
SOFTCUDA_EXPORT CUresult first_DevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    return cuDevicePrimaryCtxSetFlags(dev, flags);
}

SOFTCUDA_EXPORT CUresult first_CtxDestroy(CUcontext ctx) __asm__("cuCtxDestroy");
SOFTCUDA_EXPORT CUresult first_CtxDestroy(CUcontext ctx) {
    return cuCtxDestroy(ctx);
}

SOFTCUDA_EXPORT CUresult first_CtxPushCurrent(CUcontext ctx) __asm__("cuCtxPushCurrent");
SOFTCUDA_EXPORT CUresult first_CtxPushCurrent(CUcontext ctx) {
    return cuCtxPushCurrent(ctx);
}

SOFTCUDA_EXPORT CUresult first_CtxPopCurrent(CUcontext* pctx) __asm__("cuCtxPopCurrent");
SOFTCUDA_EXPORT CUresult first_CtxPopCurrent(CUcontext* pctx) {
    return cuCtxPopCurrent(pctx);
}

SOFTCUDA_EXPORT CUresult first_StreamDestroy(CUstream hStream) __asm__("cuStreamDestroy");
SOFTCUDA_EXPORT CUresult first_StreamDestroy(CUstream hStream) {
    return cuStreamDestroy(hStream);
}

SOFTCUDA_EXPORT CUresult first_EventDestroy(CUevent hEvent) __asm__("cuEventDestroy");
SOFTCUDA_EXPORT CUresult first_EventDestroy(CUevent hEvent) {
    return cuEventDestroy(hEvent);
}

SOFTCUDA_EXPORT CUresult first_EventElapsedTime(float* pMilliseconds, CUevent hStart,
                                                CUevent hEnd) __asm__("cuEventElapsedTime");
SOFTCUDA_EXPORT CUresult first_EventElapsedTime(float* pMilliseconds, CUevent hStart,
                                                CUevent hEnd) {
    return cuEventElapsedTime(pMilliseconds, hStart, hEnd);
}

SOFTCUDA_EXPORT CUresult first_MemHostRegister(void* p, size_t bytesize,
                                               unsigned int Flags) __asm__("cuMemHostRegister");
SOFTCUDA_EXPORT CUresult first_MemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
    return cuMemHostRegister(p, bytesize, Flags);
}

SOFTCUDA_EXPORT CUresult first_IpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle,
                                                unsigned int Flags) __asm__("cuIpcOpenMemHandle");
SOFTCUDA_EXPORT CUresult first_IpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle,
                                                unsigned int Flags) {
    return cuIpcOpenMemHandle(pdptr, handle, Flags);
}

SOFTCUDA_EXPORT CUresult first_MemAllocHost(void** pp, size_t bytesize) __asm__("cuMemAllocHost");
SOFTCUDA_EXPORT CUresult first_MemAllocHost(void** pp, size_t bytesize) {
    return cuMemAllocHost(pp, bytesize);
}

SOFTCUDA_EXPORT CUresult first_CtxCreate(CUcontext* pctx, unsigned int flags,
                                         CUdevice dev) __asm__("cuCtxCreate");
SOFTCUDA_EXPORT CUresult first_CtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    return cuCtxCreate_v2(pctx, flags, dev);
}

SOFTCUDA_EXPORT CUresult first_GetProcAddress(const char* symbol, void** pfn, int version,
                                              cuuint64_t flags) __asm__("cuGetProcAddress");
SOFTCUDA_EXPORT CUresult first_GetProcAddress(const char* symbol, void** pfn, int version,
                                              cuuint64_t flags) {
    return legacy_get_proc_address(symbol, pfn, version, flags);
}

SOFTCUDA_EXPORT CUresult first_MemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice,
                                         CUdevice device) __asm__("cuMemAdvise");
SOFTCUDA_EXPORT CUresult first_MemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice,
                                         CUdevice device) {
    return legacy_mem_advise(address, count, advice, device);
}

SOFTCUDA_EXPORT CUresult first_MemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device,
                                                CUstream stream) __asm__("cuMemPrefetchAsync");
SOFTCUDA_EXPORT CUresult first_MemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device,
                                                CUstream stream) {
    return legacy_mem_prefetch_async(address, count, device, stream);
}

// Called with other arguments than declared; nothing is read from them.
#define SOFTCUDA_32_BIT(name)                                  \
    SOFTCUDA_EXPORT CUresult old_##name() __asm__("cu" #name); \
    SOFTCUDA_EXPORT CUresult old_##name() {                    \
        return refuse_32_bit("cu" #name);                      \
    }

SOFTCUDA_32_BIT(DeviceTotalMem)
SOFTCUDA_32_BIT(MemGetInfo)
SOFTCUDA_32_BIT(MemAlloc)
SOFTCUDA_32_BIT(MemAllocPitch)
SOFTCUDA_32_BIT(MemFree)
SOFTCUDA_32_BIT(MemGetAddressRange)
SOFTCUDA_32_BIT(MemHostGetDevicePointer)
SOFTCUDA_32_BIT(MemcpyHtoD)
SOFTCUDA_32_BIT(MemcpyDtoH)
SOFTCUDA_32_BIT(MemcpyDtoD)
SOFTCUDA_32_BIT(MemcpyHtoDAsync)
SOFTCUDA_32_BIT(MemcpyDtoHAsync)
SOFTCUDA_32_BIT(MemcpyDtoDAsync)
SOFTCUDA_32_BIT(Memcpy2D)
SOFTCUDA_32_BIT(Memcpy2DUnaligned)
SOFTCUDA_32_BIT(Memcpy2DAsync)
SOFTCUDA_32_BIT(MemsetD8)
SOFTCUDA_32_BIT(MemsetD16)
SOFTCUDA_32_BIT(MemsetD32)
SOFTCUDA_32_BIT(MemsetD2D8)
SOFTCUDA_32_BIT(MemsetD2D16)
SOFTCUDA_32_BIT(MemsetD2D32)
SOFTCUDA_32_BIT(ModuleGetGlobal)
