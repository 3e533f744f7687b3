// SPDX-License-Identifier: BSD-3-Clause
// Allocating each kind in the plainest way the driver offers.
#include "tools/gpu/kinds.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

namespace beeline::gpu {
namespace {

constexpr std::size_t kPage = 4096;

template <class Function>
bool find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}
void* pointer(CUdeviceptr address) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}
CUdeviceptr number(void* address) noexcept {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace

std::unique_ptr<Allocators> Allocators::load(void* library, CUdevice device) {
    auto all = std::make_unique<Allocators>();
    all->device_ = device;
    const bool complete =
        find(library, all->host_alloc_, "cuMemHostAlloc") &&
        find(library, all->host_free_, "cuMemFreeHost") &&
        find(library, all->register_, "cuMemHostRegister_v2") &&
        find(library, all->unregister_, "cuMemHostUnregister") &&
        find(library, all->alloc_async_, "cuMemAllocAsync") &&
        find(library, all->free_async_, "cuMemFreeAsync") &&
        find(library, all->stream_wait_, "cuStreamSynchronize") &&
        find(library, all->granularity_, "cuMemGetAllocationGranularity") &&
        find(library, all->reserve_, "cuMemAddressReserve") &&
        find(library, all->unreserve_, "cuMemAddressFree") &&
        find(library, all->create_, "cuMemCreate") && find(library, all->drop_, "cuMemRelease") &&
        find(library, all->map_, "cuMemMap") && find(library, all->unmap_, "cuMemUnmap") &&
        find(library, all->set_access_, "cuMemSetAccess");
    return complete ? std::move(all) : nullptr;
}

CUmemAllocationProp Allocators::properties() const noexcept {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return properties;
}

std::size_t Allocators::rounded(std::size_t bytes) const noexcept {
    std::size_t granule = 1;
    const CUmemAllocationProp wanted = properties();
    granularity_(&granule, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    return (bytes + granule - 1) / granule * granule;
}

/// One allocation of cuMemCreate at an address of its own.
void* Allocators::map(std::size_t bytes) const noexcept {
    const std::size_t size = rounded(bytes);
    const CUmemAllocationProp wanted = properties();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    if (reserve_(&address, size, 0, 0, 0) != CUDA_SUCCESS) {
        return nullptr;
    }
    if (create_(&handle, size, &wanted, 0) != CUDA_SUCCESS) {
        unreserve_(address, size);
        return nullptr;
    }
    CUmemAccessDesc access{};
    access.location = wanted.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const bool mapped = map_(address, size, 0, handle, 0) == CUDA_SUCCESS;
    drop_(handle);  // the mapping keeps it
    if (mapped && set_access_(address, size, &access, 1) == CUDA_SUCCESS) {
        return pointer(address);
    }
    if (mapped) {
        unmap_(address, size);
    }
    unreserve_(address, size);
    return nullptr;
}

void* Allocators::allocate(Kind kind, std::size_t bytes) const noexcept {
    void* memory = nullptr;
    CUdeviceptr address = 0;
    switch (kind) {
        case Kind::kPinned:
            return host_alloc_(&memory, bytes, 0) == CUDA_SUCCESS ? memory : nullptr;
        case Kind::kRegistered:
            memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
            if (memory != nullptr && register_(memory, bytes, 0) != CUDA_SUCCESS) {
                std::free(memory);
                memory = nullptr;
            }
            return memory;
        case Kind::kPool:
            return alloc_async_(&address, bytes, nullptr) == CUDA_SUCCESS &&
                           stream_wait_(nullptr) == CUDA_SUCCESS
                       ? pointer(address)
                       : nullptr;
        case Kind::kVmm:
            return map(bytes);
        case Kind::kHost:
        case Kind::kDevice:
        case Kind::kManaged:
            break;
    }
    return nullptr;
}

void Allocators::release(Kind kind, void* address, std::size_t bytes) const noexcept {
    switch (kind) {
        case Kind::kPinned:
            host_free_(address);
            return;
        case Kind::kRegistered:
            unregister_(address);
            std::free(address);
            return;
        case Kind::kPool:
            free_async_(number(address), nullptr);
            stream_wait_(nullptr);
            return;
        case Kind::kVmm:
            unmap_(number(address), rounded(bytes));
            unreserve_(number(address), rounded(bytes));
            return;
        case Kind::kHost:
        case Kind::kDevice:
        case Kind::kManaged:
            return;
    }
}

}  // namespace beeline::gpu
