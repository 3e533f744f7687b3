// SPDX-License-Identifier: BSD-3-Clause
// Registration by dma-buf, by peer memory, and of host memory.
#include "mover/verbs/register.hpp"

#include <unistd.h>

#include <cerrno>

#include "cuda/context.hpp"
#include "cuda/driver.hpp"
#include "mover/verbs/api.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr unsigned kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// Makes a region with relaxed ordering if wished, or without if it is refused so: old kernels and
/// cards take no flag that they do not know.
template <class Register>
ibv_mr* with_ordering(bool relaxed, Register&& attempt) noexcept {
    if (relaxed) {
        if (ibv_mr* made = attempt(kAccess | IBV_ACCESS_RELAXED_ORDERING); made != nullptr) {
            return made;
        }
        if (errno != EINVAL && errno != EOPNOTSUPP) {
            return nullptr;
        }
    }
    return attempt(kAccess);
}

/// ibv_reg_mr takes no optional flag itself; ibv_reg_mr_iova2 leaves out those that the kernel does
/// not know.
ibv_mr* register_address(const Port& port, void* base, std::size_t bytes, bool relaxed) noexcept {
    const Api& api = *port.api;
    errno = 0;
    return with_ordering(relaxed && api.reg_mr_iova2 != nullptr, [&](unsigned access) {
        return (access & IBV_ACCESS_OPTIONAL_RANGE) != 0
                   ? api.reg_mr_iova2(port.pd, base, bytes, reinterpret_cast<std::uintptr_t>(base),
                                      access)
                   : api.reg_mr(port.pd, base, bytes, static_cast<int>(access));
    });
}

int device_attribute(const memory::Pointer& where, CUdevice_attribute attribute,
                     int unknown) noexcept {
    int value = 0;
    return where.driver->cuDeviceGetAttribute != nullptr &&
                   where.driver->cuDeviceGetAttribute(&value, attribute, where.device) ==
                       CUDA_SUCCESS
               ? value
               : unknown;
}

}  // namespace

bool gpu_offers_rdma(const memory::Pointer& where) noexcept {
    return device_attribute(where, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1) != 0;
}

Registration::Registration(const memory::Pointer& where, const Extent& extent) noexcept
    : where_(where), base_(extent.base()), bytes_(extent.bytes()), is_vmm_(extent.is_vmm) {}

Registration::~Registration() {
    if (descriptor_ >= 0) {
        close(descriptor_);  // the regions keep the memory
    }
}

Refusal Registration::explain(Means means, int error, const Port& port) const noexcept {
    Circumstances now = current_limits();
    now.bytes = bytes_;
    now.max_mr_size = port.limits.max_mr_size != 0 ? port.limits.max_mr_size : UINT64_MAX;
    now.is_vmm = is_vmm_;
    now.vmm_supported =
        device_attribute(where_, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1) !=
        0;
    return {missing_of(means, error, now), error, means};
}

/// Whole pages: the driver takes nothing else. The offset leads back to the memory's start.
void Registration::export_descriptor() noexcept {
    exported_ = true;
    const cuda::Driver& driver = *where_.driver;
    if (driver.cuMemGetHandleForAddressRange == nullptr) {
        export_refusal_ = {Missing::kModule, EOPNOTSUPP, Means::kDmaBuf};
        return;
    }
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t start = base_ & ~(page - 1);
    const std::uint64_t length = (base_ + bytes_ - start + page - 1) & ~(page - 1);
    const cuda::ContextScope scope(driver, where_.context);
    const cuda::CaptureScope captures(driver);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = driver.cuMemGetHandleForAddressRange(&descriptor_, start, length,
                                                      CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    }
    if (result == CUDA_SUCCESS && descriptor_ >= 0) {
        offset_ = base_ - start;
        return;
    }
    descriptor_ = -1;
    if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_INVALID_VALUE) {
        export_refusal_ = {Missing::kModule, EOPNOTSUPP, Means::kDmaBuf};
    } else if (!current_limits().descriptors_left) {
        export_refusal_ = {Missing::kDescriptors, EMFILE, Means::kDmaBuf};
    } else if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        export_refusal_ = {Missing::kBar, ENOMEM, Means::kDmaBuf};
    } else {
        export_refusal_ = {Missing::kDriver, static_cast<int>(result), Means::kDmaBuf};
    }
}

ibv_mr* Registration::by_dma_buf(const Port& port, const Allowed& allowed) noexcept {
    const Api& api = *port.api;
    if (api.reg_dmabuf_mr == nullptr) {
        refusal_ = {Missing::kModule, EOPNOTSUPP, Means::kDmaBuf};
        return nullptr;
    }
    if (!exported_) {
        export_descriptor();
    }
    if (descriptor_ < 0) {
        refusal_ = export_refusal_;
        return nullptr;
    }
    errno = 0;
    ibv_mr* made = with_ordering(allowed.relaxed_ordering, [&](unsigned access) {
        return api.reg_dmabuf_mr(port.pd, offset_, bytes_, base_, descriptor_,
                                 static_cast<int>(access));
    });
    if (made == nullptr) {
        refusal_ = explain(Means::kDmaBuf, errno, port);
    }
    return made;
}

ibv_mr* Registration::by_peer_memory(const Port& port, const Allowed& allowed) noexcept {
    ibv_mr* made =
        register_address(port, reinterpret_cast<void*>(base_), bytes_, allowed.relaxed_ordering);
    if (made == nullptr) {
        refusal_ = explain(Means::kPeerMemory, errno, port);
    }
    return made;
}

ibv_mr* Registration::with(const Port& port, const Allowed& allowed) noexcept {
    refusal_ = {Missing::kSwitchedOff, 0, Means::kDmaBuf};
    dma_buf_ = peer_memory_ = Missing::kNothing;
    Refusal first;
    if (allowed.dma_buf) {
        means_ = Means::kDmaBuf;
        if (ibv_mr* made = by_dma_buf(port, allowed); made != nullptr) {
            return made;
        }
        first = refusal_;
        dma_buf_ = first.missing;
    }
    if (allowed.peer_memory) {
        means_ = Means::kPeerMemory;
        if (ibv_mr* made = by_peer_memory(port, allowed); made != nullptr) {
            return made;
        }
        peer_memory_ = refusal_.missing;
    }
    refusal_ = weightier(first, refusal_);
    return nullptr;
}

ibv_mr* register_host(const Port& port, void* base, std::size_t bytes, bool relaxed_ordering,
                      Refusal& refusal) noexcept {
    ibv_mr* made = register_address(port, base, bytes, relaxed_ordering);
    if (made == nullptr) {
        const int error = errno;
        Circumstances now = current_limits();
        now.bytes = bytes;
        now.max_mr_size = port.limits.max_mr_size != 0 ? port.limits.max_mr_size : UINT64_MAX;
        refusal = {missing_of(Means::kHost, error, now), error, Means::kHost};
    }
    return made;
}

}  // namespace beeline::mover::verbs
