// SPDX-License-Identifier: BSD-3-Clause
// Memory that programs use besides cuMemAlloc and cuMemAllocManaged: pinned, registered, pools,
// VMM.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>

#include "tools/gpu/gpu.hpp"

namespace beeline::gpu {

/// The driver calls behind the kinds that gpu.cpp does not serve itself.
class Allocators {
 public:
    /// From a loaded libcuda.so.1; null when it lacks one of the calls.
    static std::unique_ptr<Allocators> load(void* library, CUdevice device);

    /// Null when the driver refuses.
    void* allocate(Kind kind, std::size_t bytes) const noexcept;
    void release(Kind kind, void* address, std::size_t bytes) const noexcept;

 private:
    void* map(std::size_t bytes) const noexcept;
    CUmemAllocationProp properties() const noexcept;
    std::size_t rounded(std::size_t bytes) const noexcept;

    CUdevice device_ = 0;
    CUresult (*host_alloc_)(void**, std::size_t, unsigned) = nullptr;
    CUresult (*host_free_)(void*) = nullptr;
    CUresult (*register_)(void*, std::size_t, unsigned) = nullptr;
    CUresult (*unregister_)(void*) = nullptr;
    CUresult (*alloc_async_)(CUdeviceptr*, std::size_t, CUstream) = nullptr;
    CUresult (*free_async_)(CUdeviceptr, CUstream) = nullptr;
    CUresult (*stream_wait_)(CUstream) = nullptr;
    CUresult (*granularity_)(std::size_t*, const CUmemAllocationProp*,
                             CUmemAllocationGranularity_flags) = nullptr;
    CUresult (*reserve_)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                         unsigned long long) = nullptr;
    CUresult (*unreserve_)(CUdeviceptr, std::size_t) = nullptr;
    CUresult (*create_)(CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                        unsigned long long) = nullptr;
    CUresult (*drop_)(CUmemGenericAllocationHandle) = nullptr;
    CUresult (*map_)(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                     unsigned long long) = nullptr;
    CUresult (*unmap_)(CUdeviceptr, std::size_t) = nullptr;
    CUresult (*set_access_)(CUdeviceptr, std::size_t, const CUmemAccessDesc*,
                            std::size_t) = nullptr;
};

}  // namespace beeline::gpu
