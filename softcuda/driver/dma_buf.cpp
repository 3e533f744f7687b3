// SPDX-License-Identifier: BSD-3-Clause
// Descriptors for ranges of device memory. Not dma-bufs to the kernel: a file that names the range.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/ledger.hpp"
#include "softcuda/driver/memory.hpp"

namespace softcuda {
namespace {

constexpr uint64_t kPage = 4096;

/** Whether every page of the range holds some device memory that a card may be given. */
bool can_export(uint64_t address, uint64_t end) {
    const std::lock_guard lock(memory_mutex());
    while (address < end) {
        const Allocation* found = find_allocation(address);
        if (found == nullptr) {
            // The range was rounded to pages: small allocations share them.
            if (!overlaps_allocation(address, kPage)) {
                return false;
            }
            address += kPage;
            continue;
        }
        if (found->kind != MemoryKind::kDevice && found->kind != MemoryKind::kPool &&
            found->kind != MemoryKind::kMapped) {
            return false;
        }
        address = (found->address + found->size + kPage - 1) & ~(kPage - 1);
    }
    return true;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr dptr, size_t size,
                                       CUmemRangeHandleType handleType, unsigned long long flags) {
    return call(Entry::kMemGetHandleForAddressRange, Needs::kContext, [=] {
        if (handle == nullptr || handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
            (flags & ~uint64_t{CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE}) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!config().dma_buf) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        if (size == 0 || dptr % kPage != 0 || size % kPage != 0 || !can_export(dptr, dptr + size)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const int descriptor = memfd_create("softcuda-dma-buf", MFD_CLOEXEC);
        if (descriptor < 0 || dprintf(descriptor, "%llx %zx\n", dptr, size) < 0) {
            if (descriptor >= 0) {
                close(descriptor);
            }
            return CUDA_ERROR_OPERATING_SYSTEM;
        }
        *static_cast<int*>(handle) = descriptor;
        return CUDA_SUCCESS;
    });
}
