// SPDX-License-Identifier: BSD-3-Clause
// SoftCUDA's settings, read from the environment once, at the first driver call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "softcuda/driver/driver.hpp"

namespace softcuda {

inline constexpr int kMaxDevices = 16;

/** How virtual GPUs reach each other. */
enum class Topology { kNvlink, kPcie, kNone, kPairs };

/** One rule of SOFTCUDA_FAULT: call number `nth` of `entry` (and all later ones if `onwards`) fails
 *  with `code`. */
struct Fault {
    Entry entry;
    uint64_t nth;
    bool onwards;
    CUresult code;
};

struct Config {
    int devices = 2;                        // SOFTCUDA_DEVICES, 0..kMaxDevices
    uint64_t memory = uint64_t{8} << 30;    // SOFTCUDA_MEMORY, bytes per device
    Topology topology = Topology::kNvlink;  // SOFTCUDA_TOPOLOGY
    uint16_t peers[kMaxDevices] = {};       // kPairs: bit j of [i]: GPU i may access GPU j
    bool ipc_visible_only = false;          // SOFTCUDA_IPC=visible
    bool ipc_base_only = false;             // SOFTCUDA_IPC=base: no handle by an interior address
    bool ipc_hollow = false;                // SOFTCUDA_IPC=hollow: handles that nobody can open
    bool ipc_leaks = false;                 // SOFTCUDA_IPC=leak: each opening costs a descriptor
    uint64_t sparse = uint64_t{128} << 20;  // SOFTCUDA_SPARSE, smallest copy that keeps holes
    double gigabytes_per_second = 0;        // SOFTCUDA_GBPS, 0: as fast as memcpy
    double latency_us = 0;                  // SOFTCUDA_LATENCY_US, added to each copy
    double delay_us = 0;                    // SOFTCUDA_DELAY, added to each stream operation
    bool always_async = false;              // SOFTCUDA_ASYNC=always
    bool host_access = false;               // SOFTCUDA_HOST_ACCESS=1
    bool dma_buf = false;                   // SOFTCUDA_DMA_BUF=1
    bool gpudirect = false;                 // SOFTCUDA_GPUDIRECT=1, or host_access or dma_buf
    bool log = false;                       // SOFTCUDA_LOG=1
    bool quiet = false;                     // SOFTCUDA_QUIET=1
    std::string node;                       // SOFTCUDA_NODE, part of the devices' UUIDs
    std::vector<std::string> kernels;       // SOFTCUDA_KERNELS, colon separated
    std::vector<Fault> faults;              // SOFTCUDA_FAULT
    bool valid = true;                      // false: a value was refused (and named on stderr)

    /** Whether a copy may run in the calling thread when its stream is idle. */
    bool may_inline() const {
        return !always_async && delay_us == 0 && latency_us == 0 && gigabytes_per_second == 0;
    }
};

/** Blocks of one kernel that run at the same time; what cuDeviceGetAttribute reports. */
inline constexpr int kMultiprocessors = 4;

/** The settings; the first call reads them. */
const Config& config();

/** Fault that applies to call number `count` (from 1) of `entry`, CUDA_SUCCESS if none. */
CUresult injected_fault(Entry entry, uint64_t count) noexcept;

}  // namespace softcuda
