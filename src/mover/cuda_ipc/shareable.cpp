// SPDX-License-Identifier: BSD-3-Clause
// Parts of a range, their descriptors, and mapping them elsewhere.
#include "mover/cuda_ipc/shareable.hpp"

#include <utility>

#include "wire/headers.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

/// One mapping, or one allocation of a pool.
struct Part {
    std::uint64_t base = 0;
    std::size_t bytes = 0;
    std::uint64_t id = 0;
    std::uint64_t handle_types = 0;
    CUmemoryPool pool = nullptr;
};

bool ask(const cuda::Driver& driver, std::uint64_t address, Part& part) noexcept {
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    void* values[] = {&part.base, &part.bytes, &part.id, &part.handle_types, &part.pool};
    return driver.cuPointerGetAttributes(std::size(attributes), attributes, values, address) ==
               CUDA_SUCCESS &&
           part.bytes != 0 && address >= part.base && address - part.base < part.bytes;
}

constexpr bool by_descriptor(const Part& part) noexcept {
    return (part.handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
}

/// FNV-1a, 64 bits, of the parts' sizes and ids. 0 means "nothing", so it is never the result.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    for (int shift = 0; shift < 64; shift += 8) {
        hash = (hash ^ ((value >> shift) & 0xff)) * 0x100000001b3U;
    }
    return hash != 0 ? hash : 1;
}

bool can_map(const cuda::Driver& driver) noexcept {
    return driver.cuMemAddressReserve != nullptr && driver.cuMemAddressFree != nullptr &&
           driver.cuMemMap != nullptr && driver.cuMemUnmap != nullptr &&
           driver.cuMemSetAccess != nullptr && driver.cuMemRelease != nullptr &&
           driver.cuMemRetainAllocationHandle != nullptr &&
           driver.cuMemExportToShareableHandle != nullptr &&
           driver.cuMemImportFromShareableHandle != nullptr;
}

bool can_share_pools(const cuda::Driver& driver) noexcept {
    return driver.cuMemFreeAsync != nullptr && driver.cuMemPoolDestroy != nullptr &&
           driver.cuMemPoolExportToShareableHandle != nullptr &&
           driver.cuMemPoolImportFromShareableHandle != nullptr &&
           driver.cuMemPoolExportPointer != nullptr && driver.cuMemPoolImportPointer != nullptr;
}

/// Walks the parts from the one with `data` to the one before `end`; false when there is a gap, or
/// one that has no descriptor, or too many.
bool walk(const cuda::Driver& driver, std::uint64_t data, std::uint64_t end, Part part,
          VmmRange& range) noexcept {
    range = {part.base, 0, 0xcbf29ce484222325U, {}};
    for (;;) {
        if (!by_descriptor(part) || part.pool != nullptr || part.id == 0 ||
            range.parts.size() == wire::kMaxParts || part.base != range.base + range.bytes) {
            return false;
        }
        range.bytes += part.bytes;
        range.parts.push_back(part.bytes);
        range.id = mix(mix(range.id, part.bytes), part.id);
        data = part.base + part.bytes;
        if (data >= end) {
            return true;
        }
        part = {};
        if (!ask(driver, data, part)) {
            return false;
        }
    }
}

}  // namespace

const char* to_string(HandleKind kind) noexcept {
    switch (kind) {
        case HandleKind::kNone:
            return "bounce";
        case HandleKind::kLegacy:
            return "legacy handle";
        case HandleKind::kVmm:
            return "descriptors";
        case HandleKind::kPool:
            return "pool descriptor";
    }
    return "unknown";
}

Shareable examine(const cuda::Driver& driver, std::uint64_t data, std::size_t bytes) noexcept {
    Shareable answer;
    Part first;
    if (!ask(driver, data, first) || !by_descriptor(first)) {
        return answer;
    }
    if (first.pool != nullptr) {
        if (can_share_pools(driver)) {
            answer.kind = HandleKind::kPool;
            answer.pool = first.pool;
        }
        return answer;
    }
    if (can_map(driver) && walk(driver, data, data + bytes, first, answer.range)) {
        answer.kind = HandleKind::kVmm;
    }
    return answer;
}

std::uint64_t current_id(const cuda::Driver& driver, const VmmRange& range) noexcept {
    Part first;
    VmmRange now;
    return ask(driver, range.base, first) &&
                   walk(driver, range.base, range.base + range.bytes, first, now) &&
                   now.bytes == range.bytes
               ? now.id
               : 0;
}

int export_part(const cuda::Driver& driver, std::uint64_t address) noexcept {
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address));
    int descriptor = -1;
    if (result == CUDA_SUCCESS) {
        result = driver.cuMemExportToShareableHandle(&descriptor, handle,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        driver.cuMemRelease(handle);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(driver, "cuMemExportToShareableHandle", result,
                             reinterpret_cast<const void*>(address),
                             "messages from this memory go through a buffer");
        return -1;
    }
    return descriptor;
}

int export_pool(const cuda::Driver& driver, CUmemoryPool pool) noexcept {
    int descriptor = -1;
    const CUresult result = driver.cuMemPoolExportToShareableHandle(
        &descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(driver, "cuMemPoolExportToShareableHandle", result, pool,
                             "messages from this pool go through a buffer");
        return -1;
    }
    return descriptor;
}

VmmMapping::~VmmMapping() {
    if (mapped_ != 0) {
        driver_.cuMemUnmap(address_, mapped_);
    }
    if (address_ != 0) {
        driver_.cuMemAddressFree(address_, reserved_);
    }
}

bool VmmMapping::reserve(std::uint64_t bytes) noexcept {
    result_ = can_map(driver_) ? driver_.cuMemAddressReserve(&address_, bytes, 0, 0, 0)
                               : CUDA_ERROR_NOT_SUPPORTED;
    reserved_ = result_ == CUDA_SUCCESS ? bytes : 0;
    return result_ == CUDA_SUCCESS;
}

bool VmmMapping::add(int descriptor, std::uint64_t bytes) noexcept {
    if (bytes > reserved_ - mapped_) {
        result_ = CUDA_ERROR_INVALID_VALUE;
        return false;
    }
    CUmemGenericAllocationHandle handle = 0;
    result_ = driver_.cuMemImportFromShareableHandle(
        &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result_ != CUDA_SUCCESS) {
        return false;
    }
    result_ = driver_.cuMemMap(address_ + mapped_, bytes, 0, handle, 0);
    driver_.cuMemRelease(handle);  // the mapping keeps the memory
    mapped_ += result_ == CUDA_SUCCESS ? bytes : 0;
    return result_ == CUDA_SUCCESS;
}

CUdeviceptr VmmMapping::finish(int device) noexcept {
    if (mapped_ == 0 || mapped_ != reserved_) {
        result_ = CUDA_ERROR_INVALID_VALUE;
        return 0;
    }
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result_ = driver_.cuMemSetAccess(address_, reserved_, &access, 1);
    if (result_ != CUDA_SUCCESS) {
        return 0;
    }
    mapped_ = reserved_ = 0;
    return std::exchange(address_, 0);
}

void VmmMapping::unmap(const cuda::Driver& driver, CUdeviceptr address,
                       std::uint64_t bytes) noexcept {
    driver.cuMemUnmap(address, bytes);
    driver.cuMemAddressFree(address, bytes);
}

}  // namespace beeline::mover::cuda_ipc
