// SPDX-License-Identifier: BSD-3-Clause
// Walking over mappings.
#include "mover/verbs/parts.hpp"

#include <algorithm>
#include <iterator>

#include "cuda/driver.hpp"

namespace beeline::mover::verbs {
namespace {

struct Mapping {
    Part part;
    void* pool = nullptr;
    unsigned capable = 0;
    int device = -1;
};

bool ask(const cuda::Driver& driver, std::uint64_t address, Mapping& mapping) noexcept {
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                        CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                        CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* values[] = {&mapping.part.base, &mapping.part.bytes, &mapping.part.id,
                      &mapping.pool,      &mapping.capable,    &mapping.device};
    return driver.cuPointerGetAttributes(std::size(attributes), attributes, values, address) ==
               CUDA_SUCCESS &&
           mapping.part.id != 0 && mapping.part.bytes != 0 && address >= mapping.part.base &&
           address < mapping.part.end();
}

bool is_mapped(const cuda::Driver& driver, const Mapping& mapping) noexcept {
    // Of what cuMemMap has mapped the driver gives back the handle; of other memory it has none.
    CUmemGenericAllocationHandle handle = 0;
    if (mapping.pool != nullptr || driver.cuMemRetainAllocationHandle == nullptr ||
        driver.cuMemRelease == nullptr ||
        driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(mapping.part.base)) !=
            CUDA_SUCCESS) {
        return false;
    }
    driver.cuMemRelease(handle);
    return true;
}

}  // namespace

Extent extent_of(const memory::Pointer& where, std::uint64_t address, std::uint64_t bytes,
                 std::uint64_t limit) noexcept {
    const cuda::Driver& driver = *where.driver;
    const std::uint64_t end = address + bytes;
    const bool in_one = address >= where.base && end - where.base <= where.size;
    Mapping first;
    if (where.ipc_capable || !ask(driver, address, first) || !is_mapped(driver, first)) {
        Extent whole;
        if (in_one) {
            whole.parts.push_back({where.base, where.size, where.buffer_id});
        }
        return whole;
    }
    Extent extent;
    extent.is_vmm = true;
    extent.is_capable = first.capable != 0;
    extent.parts.push_back(first.part);
    const auto joins = [&](const Mapping& next) {
        return next.device == first.device && (next.capable != 0) == (first.capable != 0) &&
               next.pool == nullptr;
    };
    std::uint64_t budget = limit;
    while (extent.parts.size() < kMaxExtentParts) {
        Mapping next;
        const std::uint64_t at = extent.parts.back().end();
        if (!ask(driver, at, next) || next.part.base != at || !joins(next)) {
            break;
        }
        if (at >= end && next.part.bytes > budget) {
            break;
        }
        budget -= at >= end ? next.part.bytes : 0;
        extent.parts.push_back(next.part);
    }
    if (extent.parts.back().end() < end) {
        return {};
    }
    // To the front; collected backwards.
    std::vector<Part> before;
    std::uint64_t at = extent.base();
    while (at != 0 && before.size() < kMaxExtentParts) {
        Mapping next;
        if (!ask(driver, at - 1, next) || next.part.end() != at || !joins(next) ||
            next.part.bytes > budget) {
            break;
        }
        budget -= next.part.bytes;
        before.push_back(next.part);
        at = next.part.base;
    }
    extent.parts.insert(extent.parts.begin(), before.rbegin(), before.rend());
    return extent;
}

Extent narrowed(const Extent& extent, std::uint64_t address, std::uint64_t bytes) noexcept {
    Extent narrow;
    narrow.is_vmm = extent.is_vmm;
    narrow.is_capable = extent.is_capable;
    std::copy_if(
        extent.parts.begin(), extent.parts.end(), std::back_inserter(narrow.parts),
        [&](const Part& part) { return part.base < address + bytes && part.end() > address; });
    return narrow;
}

bool still_there(const cuda::Driver& driver, const Part& part) noexcept {
    std::uint64_t id = 0;
    return driver.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, part.base) ==
               CUDA_SUCCESS &&
           id == part.id;
}

}  // namespace beeline::mover::verbs
