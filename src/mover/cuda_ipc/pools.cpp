// SPDX-License-Identifier: BSD-3-Clause
// Importing pools.
#include "mover/cuda_ipc/pools.hpp"

namespace beeline::mover::cuda_ipc {

const PoolImports::Pool* PoolImports::find(std::uint64_t peer, std::uint64_t id) const noexcept {
    for (const Pool& pool : pools_) {
        if (pool.peer == peer && pool.id == id) {
            return &pool;
        }
    }
    return nullptr;
}

bool PoolImports::knows(std::uint64_t peer, std::uint64_t id) const noexcept {
    return find(peer, id) != nullptr;
}

CUresult PoolImports::add(const cuda::Driver& driver, std::uint64_t peer, std::uint64_t id,
                          int descriptor, int device) noexcept {
    forget(peer, id);
    if (driver.cuMemPoolImportFromShareableHandle == nullptr) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUmemoryPool pool = nullptr;
    const CUresult result = driver.cuMemPoolImportFromShareableHandle(
        &pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (driver.cuMemPoolSetAccess != nullptr) {
        CUmemAccessDesc access{};
        access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = device;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        // Refused for the pool's own device, which has access anyway, and where there is no peer
        // access, which copies do not need.
        driver.cuMemPoolSetAccess(pool, &access, 1);
    }
    if (pools_.size() == kMost) {
        forget(pools_.front().peer, pools_.front().id);
    }
    pools_.push_back({peer, id, &driver, pool});
    return CUDA_SUCCESS;
}

void PoolImports::forget(std::uint64_t peer, std::uint64_t id) noexcept {
    std::erase_if(pools_, [&](const Pool& pool) {
        if (pool.peer != peer || pool.id != id) {
            return false;
        }
        pool.driver->cuMemPoolDestroy(pool.pool);
        return true;
    });
}

CUresult PoolImports::open(std::uint64_t peer, std::uint64_t id, const CUmemPoolPtrExportData& data,
                           CUdeviceptr& address) const noexcept {
    const Pool* pool = find(peer, id);
    if (pool == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUmemPoolPtrExportData copy = data;
    return pool->driver->cuMemPoolImportPointer(&address, pool->pool, &copy);
}

void PoolImports::clear() noexcept {
    for (const Pool& pool : pools_) {
        pool.driver->cuMemPoolDestroy(pool.pool);
    }
    pools_.clear();
}

}  // namespace beeline::mover::cuda_ipc
