// SPDX-License-Identifier: BSD-3-Clause
// Why memory could not be registered with a network card, and what to do about it.
#pragma once

#include <cstdint>

namespace beeline::mover::verbs {

/// By what means memory is registered.
enum class Means : std::uint8_t {
    kHost,        ///< ibv_reg_mr of host memory
    kDmaBuf,      ///< ibv_reg_dmabuf_mr of a descriptor that the CUDA driver made
    kPeerMemory,  ///< ibv_reg_mr of the device address, with the help of a kernel module
};
/// "host memory", "dma-buf", "peer memory"; never null.
const char* to_string(Means means) noexcept;

/// What is missing.
enum class Missing : std::uint8_t {
    kNothing,
    kGpuSupport,    ///< the GPU, or its driver, has no GPUDirect RDMA
    kVmmSupport,    ///< cuMemCreate memory that was made without it
    kKind,          ///< managed memory, which has no fixed place
    kModule,        ///< neither dma-buf nor a peer memory module serves this card
    kLockedMemory,  ///< RLIMIT_MEMLOCK
    kBar,           ///< the GPU's window on the PCIe bus is full or too small
    kDescriptors,   ///< RLIMIT_NOFILE
    kDeviceLimit,   ///< max_mr or max_mr_size of the card
    kBounds,        ///< our own parameters
    kPermission,    ///< for the device file
    kSwitchedOff,   ///< by parameter
    kDriver,        ///< the CUDA driver answered with another error
    kUnknown,
};
inline constexpr unsigned kMissingKinds = 14;

/// A refusal. `error` is an errno, or a CUresult for kDriver.
struct Refusal {
    Missing missing = Missing::kNothing;
    int error = 0;
    Means means = Means::kHost;  ///< that was tried last
};

/// What the machine and the memory are like, where a refusal has to be understood.
struct Circumstances {
    std::uint64_t bytes = 0;                  ///< that were to be registered
    std::uint64_t locked_limit = UINT64_MAX;  ///< RLIMIT_MEMLOCK
    std::uint64_t locked = 0;                 ///< of it in use (VmLck)
    std::uint64_t max_mr_size = UINT64_MAX;
    bool descriptors_left = true;
    bool is_vmm = false;        ///< cuMemCreate memory
    bool vmm_supported = true;  ///< CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
};

/// What errno of ibv_reg_mr or ibv_reg_dmabuf_mr means.
Missing missing_of(Means means, int error, const Circumstances& circumstances) noexcept;

/// Whether asking again, for other memory or later, may be answered otherwise: limits yes, modules
/// no.
bool may_pass(Missing missing) noexcept;

/// Of two refusals of one memory, by one means and then another, the one to tell: a limit that was
/// reached rather than a means that is not there.
Refusal weightier(const Refusal& one, const Refusal& other) noexcept;

/// The limits of this process as they are now, with the rest of the circumstances at their
/// defaults.
Circumstances current_limits() noexcept;

/// A few words for tables, as "memlock limit"; never null.
const char* to_string(Missing missing) noexcept;
/// What to do, naming the module, limit or setting; never null.
const char* remedy(Missing missing) noexcept;

/// Logs a warning, once for each kind of refusal: whose, why, what follows, what to do.
void report_refusal(const Refusal& refusal, const char* port, const char* consequence) noexcept;

}  // namespace beeline::mover::verbs
