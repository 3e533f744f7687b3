// SPDX-License-Identifier: BSD-3-Clause
// The few driver functions that registration needs, over a map of allocations: no device, and
// every answer on demand.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <map>

#include "cuda/driver.hpp"
#include "memory/pointer.hpp"

namespace beeline::test {

/// One at a time. Addresses are numbers: nothing is behind them.
class FakeGpu {
 public:
    struct Allocation {
        std::uint64_t bytes = 0;
        std::uint64_t id = 0;
        bool is_vmm = false;
        bool is_capable = true;
    };

    FakeGpu() {
        current() = this;
        driver_.cuGetErrorName = [](CUresult, const char** name) {
            *name = "CUDA_ERROR_OF_A_TEST";
            return CUDA_SUCCESS;
        };
        driver_.cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
        driver_.cuCtxPopCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
        driver_.cuPointerGetAttribute = [](void* value, CUpointer_attribute attribute,
                                           CUdeviceptr address) {
            ++current()->queries;
            return current()->answer(value, attribute, address);
        };
        driver_.cuPointerGetAttributes = [](unsigned count, CUpointer_attribute* wanted,
                                            void** values, CUdeviceptr address) {
            ++current()->queries;
            for (unsigned i = 0; i < count; ++i) {
                if (current()->answer(values[i], wanted[i], address) != CUDA_SUCCESS) {
                    return CUDA_ERROR_INVALID_VALUE;
                }
            }
            return CUDA_SUCCESS;
        };
        driver_.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) {
            const auto found = current()->attributes.find(attribute);
            *value = found != current()->attributes.end() ? found->second : 0;
            return CUDA_SUCCESS;
        };
        driver_.cuMemRetainAllocationHandle = [](CUmemGenericAllocationHandle* handle,
                                                 void* address) {
            const auto at = current()->find(reinterpret_cast<std::uint64_t>(address));
            if (at == current()->allocations_.end() || !at->second.is_vmm) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *handle = at->second.id;
            return CUDA_SUCCESS;
        };
        driver_.cuMemRelease = [](CUmemGenericAllocationHandle) { return CUDA_SUCCESS; };
        driver_.cuMemGetHandleForAddressRange = [](void* handle, CUdeviceptr address,
                                                   std::size_t bytes, CUmemRangeHandleType,
                                                   unsigned long long) {
            return current()->export_range(static_cast<int*>(handle), address, bytes);
        };
        attributes[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED] = 1;
        attributes[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED] = 1;
    }
    ~FakeGpu() { current() = nullptr; }
    FakeGpu(const FakeGpu&) = delete;
    FakeGpu& operator=(const FakeGpu&) = delete;

    cuda::Driver& driver() { return driver_; }

    /// An allocation at the address, of an id never used before.
    memory::Pointer allocate(std::uint64_t address, std::uint64_t bytes) {
        allocations_[address] = {bytes, ++last_id_, false, true};
        return classify(address);
    }
    /// A mapping of memory of cuMemCreate.
    void map(std::uint64_t address, std::uint64_t bytes, bool is_capable = true) {
        allocations_[address] = {bytes, ++last_id_, true, is_capable};
    }
    void free(std::uint64_t address) { allocations_.erase(address); }

    /// What memory::classify() would say.
    memory::Pointer classify(std::uint64_t address) {
        memory::Pointer answer;
        const auto at = find(address);
        if (at == allocations_.end()) {
            return answer;
        }
        answer.kind = memory::Kind::kDevice;
        answer.ipc_capable = !at->second.is_vmm;
        answer.device = 0;
        answer.context = reinterpret_cast<CUcontext>(this);
        answer.base = at->first;
        answer.size = at->second.bytes;
        answer.buffer_id = at->second.id;
        answer.driver = &driver_;
        return answer;
    }

    std::map<int, int> attributes;          ///< of the device
    CUresult export_result = CUDA_SUCCESS;  ///< of cuMemGetHandleForAddressRange
    bool spans_parts = true;                ///< it takes several mappings at once
    int exports = 0;
    int queries = 0;  ///< of pointers

 private:
    using Allocations = std::map<std::uint64_t, Allocation>;

    static FakeGpu*& current() {
        static FakeGpu* gpu = nullptr;
        return gpu;
    }
    Allocations::iterator find(std::uint64_t address) {
        auto at = allocations_.upper_bound(address);
        if (at == allocations_.begin()) {
            return allocations_.end();
        }
        --at;
        return address - at->first < at->second.bytes ? at : allocations_.end();
    }

    CUresult answer(void* value, CUpointer_attribute attribute, std::uint64_t address) {
        const auto at = find(address);
        if (at == allocations_.end()) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        switch (attribute) {
            case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
                *static_cast<std::uint64_t*>(value) = at->first;
                return CUDA_SUCCESS;
            case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
                *static_cast<std::uint64_t*>(value) = at->second.bytes;
                return CUDA_SUCCESS;
            case CU_POINTER_ATTRIBUTE_BUFFER_ID:
                *static_cast<std::uint64_t*>(value) = at->second.id;
                return CUDA_SUCCESS;
            case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
                *static_cast<void**>(value) = nullptr;
                return CUDA_SUCCESS;
            case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
                *static_cast<unsigned*>(value) = at->second.is_capable ? 1 : 0;
                return CUDA_SUCCESS;
            case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                *static_cast<int*>(value) = 0;
                return CUDA_SUCCESS;
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    }

    CUresult export_range(int* descriptor, std::uint64_t address, std::size_t bytes) {
        ++exports;
        if (export_result != CUDA_SUCCESS) {
            return export_result;
        }
        if (address % 4096 != 0 || bytes % 4096 != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const auto first = find(address);
        if (!spans_parts && first != allocations_.end() && first->second.is_vmm &&
            address + bytes > first->first + first->second.bytes) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *descriptor = memfd_create("dma-buf", MFD_CLOEXEC);
        return *descriptor >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    }

    cuda::Driver driver_;
    Allocations allocations_;
    std::uint64_t last_id_ = 0;
};

}  // namespace beeline::test
