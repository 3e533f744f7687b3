// SPDX-License-Identifier: BSD-3-Clause
// From error numbers to what a site has to change.
#include "mover/verbs/refusal.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"

namespace beeline::mover::verbs {
namespace {

struct Words {
    const char* key;  // of log_once: an address for each kind
    const char* what;
    const char* remedy;
};

constexpr std::array<Words, kMissingKinds> kWords{{
    {"verbs.refused.nothing", "nothing", "nothing is missing"},
    {"verbs.refused.gpu", "no GPUDirect RDMA on this GPU",
     "the GPU or its driver does not offer it; a data-centre or workstation GPU and the current "
     "driver do"},
    {"verbs.refused.vmm", "memory made without GPUDirect RDMA",
     "create it with CUmemAllocationProp::allocFlags.gpuDirectRDMACapable = 1"},
    {"verbs.refused.kind", "managed memory", "allocate what is sent between nodes with cudaMalloc"},
    {"verbs.refused.module", "no dma-buf and no peer memory module",
     "load the module nvidia-peermem, or use the open GPU kernel modules with Linux 5.12 or newer "
     "and a card whose driver registers dma-bufs"},
    {"verbs.refused.memlock", "memlock limit",
     "raise it (ulimit -l unlimited in the job's environment, LimitMEMLOCK=infinity for the "
     "resource manager's daemon)"},
    {"verbs.refused.bar", "GPU's BAR",
     "the GPU's window on the PCIe bus is too small or full: enable Above 4G Decoding and "
     "Resizable BAR in the firmware, or lower pml_beeline_rdma_registered_bytes"},
    {"verbs.refused.descriptors", "descriptor limit", "raise it (ulimit -n)"},
    {"verbs.refused.card", "card's limit on regions",
     "lower pml_beeline_rdma_registrations, or raise the limit of the card's driver (max_mr, "
     "max_mr_size of ibv_devinfo -v)"},
    {"verbs.refused.bounds", "our bounds",
     "raise pml_beeline_rdma_registrations or pml_beeline_rdma_registered_bytes"},
    {"verbs.refused.permission", "permission",
     "let the user open /dev/infiniband/uverbs* for reading and writing"},
    {"verbs.refused.off", "switched off", "set pml_beeline_rdma_registration to any"},
    {"verbs.refused.driver", "CUDA driver's answer",
     "see the error; pml_beeline_rdma_registration none avoids the attempt"},
    {"verbs.refused.unknown", "unknown reason",
     "see the error, and dmesg; pml_beeline_rdma_registration none avoids the attempt"},
}};

const Words& words_of(Missing missing) noexcept {
    return kWords[static_cast<std::size_t>(missing) % kWords.size()];
}

/// Bytes of locked memory of this process, as the kernel counts them for mlock(). (What verbs
/// have pinned is counted apart, VmPin, against the same limit.)
std::uint64_t locked_bytes() noexcept {
    std::FILE* file = std::fopen("/proc/self/status", "re");
    if (file == nullptr) {
        return 0;
    }
    std::uint64_t kibibytes = 0;
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
        if (std::strncmp(line, "VmPin:", 6) == 0) {
            kibibytes = std::strtoull(line + 6, nullptr, 10);
            break;
        }
    }
    std::fclose(file);
    return kibibytes * 1024;
}

Missing no_memory(Means means, const Circumstances& now) noexcept {
    // Pages of a dma-buf are the GPU driver's: they are not counted against the limit.
    if (means != Means::kDmaBuf && now.locked_limit != UINT64_MAX &&
        (now.locked >= now.locked_limit || now.bytes > now.locked_limit - now.locked)) {
        return Missing::kLockedMemory;
    }
    return means == Means::kHost ? Missing::kDeviceLimit : Missing::kBar;
}

}  // namespace

const char* to_string(Means means) noexcept {
    switch (means) {
        case Means::kHost:
            return "host memory";
        case Means::kDmaBuf:
            return "dma-buf";
        case Means::kPeerMemory:
            return "peer memory";
    }
    return "unknown";
}

Missing missing_of(Means means, int error, const Circumstances& circumstances) noexcept {
    switch (error) {
        case ENOMEM:
            return no_memory(means, circumstances);
        case EMFILE:
        case ENFILE:
            return Missing::kDescriptors;
        case EACCES:
        case EPERM:
            return Missing::kPermission;
        case ENOSPC:
        case E2BIG:
        case EOVERFLOW:
            return Missing::kDeviceLimit;
        case EFAULT:
        case EINVAL:
        case EOPNOTSUPP:
        case EPROTONOSUPPORT:
        case ENOSYS:
        case EIO:
            break;
        default:
            return Missing::kUnknown;
    }
    if (circumstances.bytes > circumstances.max_mr_size) {
        return Missing::kDeviceLimit;
    }
    if (means == Means::kHost || error == EIO) {
        return Missing::kUnknown;
    }
    if (circumstances.is_vmm && !circumstances.vmm_supported) {
        return Missing::kVmmSupport;
    }
    return Missing::kModule;
}

bool may_pass(Missing missing) noexcept {
    switch (missing) {
        case Missing::kLockedMemory:
        case Missing::kBar:
        case Missing::kDescriptors:
        case Missing::kDeviceLimit:
        case Missing::kBounds:
            return true;
        default:
            return false;
    }
}

Refusal weightier(const Refusal& one, const Refusal& other) noexcept {
    const auto weight = [](const Refusal& refusal) {
        switch (refusal.missing) {
            case Missing::kNothing:
                return 0;
            case Missing::kModule:
            case Missing::kSwitchedOff:
                return 1;
            case Missing::kDriver:
            case Missing::kUnknown:
                return 2;
            default:
                return 3;
        }
    };
    return weight(one) > weight(other) ? one : other;
}

Circumstances current_limits() noexcept {
    Circumstances now;
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        now.locked_limit = limit.rlim_cur;
        now.locked = locked_bytes();
    }
    const int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
    now.descriptors_left = probe >= 0 || (errno != EMFILE && errno != ENFILE);
    if (probe >= 0) {
        close(probe);
    }
    return now;
}

const char* to_string(Missing missing) noexcept {
    return words_of(missing).what;
}

const char* remedy(Missing missing) noexcept {
    return words_of(missing).remedy;
}

void report_refusal(const Refusal& refusal, const char* port, const char* consequence) noexcept {
    const Words& words = words_of(refusal.missing);
    char error[96] = "";
    if (refusal.error != 0 && refusal.missing == Missing::kDriver) {
        std::snprintf(error, sizeof error, ", CUDA error %d", refusal.error);
    } else if (refusal.error != 0) {
        std::snprintf(error, sizeof error, ", %s", std::strerror(refusal.error));
    }
    log_once(LogLevel::kWarning, words.key,
             "%s cannot reach memory (%s, %s%s): %s. To change this: %s", port,
             to_string(refusal.means), words.what, error, consequence, words.remedy);
}

}  // namespace beeline::mover::verbs
