// SPDX-License-Identifier: BSD-3-Clause
// Virtual GPUs: visibility, identity, topology and the calls that ask for them.
#include "softcuda/driver/device.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/held.hpp"

namespace softcuda {
namespace {

Device devices[kMaxDevices];
int visible = 0;

uint64_t mix(uint64_t hash, const char* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ULL;  // FNV-1a
    }
    return hash;
}

/** The same on one machine until it reboots, and different on another. */
CUuuid make_uuid(int physical) {
    char boot[64] = "";
    if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
        if (std::fgets(boot, sizeof boot, file) == nullptr) {
            boot[0] = '\0';
        }
        std::fclose(file);
    }
    uint64_t half[2];
    uint64_t hash = mix(0xcbf29ce484222325ULL, boot, std::strlen(boot));
    hash = mix(hash, config().node.data(), config().node.size());
    hash = mix(hash, reinterpret_cast<const char*>(&physical), sizeof physical);
    half[0] = hash;
    half[1] = mix(hash, "SoftCUDA", 8);
    CUuuid uuid;
    std::memcpy(uuid.bytes, half, sizeof uuid.bytes);
    return uuid;
}

std::string uuid_text(const CUuuid& uuid) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
        text += digits;
        if (i == 3 || i == 5 || i == 7 || i == 9) {
            text += '-';
        }
    }
    return text;
}

/** Machine-wide number of one item of CUDA_VISIBLE_DEVICES: an index or the start of a UUID. */
int parse_visible(const std::string& item) {
    if (item.rfind("GPU-", 0) == 0) {
        for (int physical = 0; physical < config().devices; ++physical) {
            if (uuid_text(make_uuid(physical)).rfind(item, 0) == 0) {
                return physical;
            }
        }
        return -1;
    }
    char* end = nullptr;
    const long index = std::strtol(item.c_str(), &end, 10);
    return !item.empty() && *end == '\0' && index >= 0 && index < config().devices
               ? static_cast<int>(index)
               : -1;
}

/** Devices in the order the application sees them; the first invalid item ends the list. */
std::vector<int> visible_devices() {
    std::vector<int> list;
    const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) {
        for (int physical = 0; physical < config().devices; ++physical) {
            list.push_back(physical);
        }
        return list;
    }
    const std::string all = text;
    for (size_t start = 0; start <= all.size();) {
        const size_t end = std::min(all.find(',', start), all.size());
        const int physical = parse_visible(all.substr(start, end - start));
        if (physical < 0) {
            break;
        }
        for (const int earlier : list) {
            if (earlier == physical) {
                return {};  // a device named twice makes the whole list invalid
            }
        }
        list.push_back(physical);
        start = end + 1;
    }
    return list;
}

int bus_number(const Device& device) {
    return 0x10 + 8 * device.physical;
}

/** Values of device attributes; -1 for those SoftCUDA does not know. */
int attribute_value(const Device& device, int attribute) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            return 64;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
            return 0x7fffffff;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
            return 65535;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            return 48 << 10;
        case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
            return 64 << 10;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            return 32;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
            return 1000000;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
            return 512;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
            return 32;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return kMultiprocessors;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
            return 1;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
            return 64;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            return 1 << 20;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
            return 2;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return 8;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
            return 0;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            return bus_number(device);
        case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
            return 1;
        case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
            return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
            return config().gpudirect ? 1 : 0;
        case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
            return config().dma_buf ? 1 : 0;
        case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
        case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
        case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
            return config().host_access ? 1 : 0;
        case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
            return config().gpudirect ? CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST : 0;
        case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
            return CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES;
        case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
            return 2;
        case CU_DEVICE_ATTRIBUTE_NUMA_ID:
        case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
            return -1;
        default:
            return 0;  // a feature the software device does not have
    }
}

/** Largest attribute number CUDA 13.0 knows. */
constexpr int kLastAttribute = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED + 12;

}  // namespace

CUresult find_devices() {
    const std::vector<int> list = visible_devices();
    for (const int physical : list) {
        Device& device = devices[visible];
        device.ordinal = visible++;
        device.physical = physical;
        device.uuid = make_uuid(physical);
    }
    return visible > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

int device_count() noexcept {
    return visible;
}

Device* device(int ordinal) noexcept {
    return ordinal >= 0 && ordinal < visible ? &devices[ordinal] : nullptr;
}

Device* device_by_physical(int physical) noexcept {
    for (int i = 0; i < visible; ++i) {
        if (devices[i].physical == physical) {
            return &devices[i];
        }
    }
    return nullptr;
}

bool can_access_peer(int physical, int other) noexcept {
    if (config().topology == Topology::kPairs) {
        return (config().peers[physical] >> other & 1U) != 0;
    }
    return physical != other && config().topology != Topology::kNone;
}

bool charge(Device& device, uint64_t bytes) noexcept {
    for (int attempt = 0; attempt < 2; ++attempt) {
        const uint64_t before = device.used.fetch_add(bytes);
        if (before + bytes <= config().memory) {
            return true;
        }
        refund(device, bytes);
        reclaim();
    }
    return false;
}

void refund(Device& device, uint64_t bytes) noexcept {
    device.used.fetch_sub(bytes);
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuDeviceGetCount(int* count) {
    return call(Entry::kDeviceGetCount, Needs::kDriver, [&] {
        if (count == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *count = device_count();
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
    return call(Entry::kDeviceGet, Needs::kDriver, [&] {
        if (out == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(ordinal) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *out = ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
    return call(Entry::kDeviceGetName, Needs::kDriver, [&] {
        if (name == nullptr || len <= 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(dev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        std::snprintf(name, static_cast<size_t>(len), "Software CUDA device");
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
    return call(Entry::kDeviceGetUuid, Needs::kDriver, [&] {
        if (uuid == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(dev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *uuid = device(dev)->uuid;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev) {
    return call(Entry::kDeviceTotalMem, Needs::kDriver, [&] {
        if (bytes == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(dev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *bytes = config().memory;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
    return call(Entry::kDeviceGetAttribute, Needs::kDriver, [&] {
        if (pi == nullptr || attrib < 1 || attrib > kLastAttribute) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(dev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *pi = attribute_value(*device(dev), attrib);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
    return call(Entry::kDeviceGetPCIBusId, Needs::kDriver, [&] {
        constexpr int kLength = sizeof "0000:00:00.0";
        if (pciBusId == nullptr || len < kLength) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(dev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        std::snprintf(pciBusId, static_cast<size_t>(len), "0000:%02X:00.0",
                      static_cast<unsigned>(bus_number(*device(dev))));
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
    return call(Entry::kDeviceGetByPCIBusId, Needs::kDriver, [&] {
        if (dev == nullptr || pciBusId == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        unsigned domain = 0;
        unsigned bus = 0;
        if (std::sscanf(pciBusId, "%x:%x:", &domain, &bus) != 2) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (int i = 0; i < device_count(); ++i) {
            if (domain == 0 && static_cast<int>(bus) == bus_number(*device(i))) {
                *dev = i;
                return CUDA_SUCCESS;
            }
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
    return call(Entry::kDeviceCanAccessPeer, Needs::kDriver, [&] {
        if (canAccessPeer == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(dev) == nullptr || device(peerDev) == nullptr) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *canAccessPeer = can_access_peer(device(dev)->physical, device(peerDev)->physical) ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
    return call(Entry::kDeviceGetP2PAttribute, Needs::kDriver, [&] {
        if (value == nullptr || attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
            attrib > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (device(srcDevice) == nullptr || device(dstDevice) == nullptr ||
            srcDevice == dstDevice) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        const bool nvlink = config().topology == Topology::kNvlink;
        const bool access =
            can_access_peer(device(srcDevice)->physical, device(dstDevice)->physical);
        if (attrib == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK) {
            *value = nvlink ? 0 : 1;
        } else if (attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) {
            *value = access ? 1 : 0;
        } else if (attrib == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) {
            *value = nvlink && access ? 1 : 0;
        } else {
            *value = 0;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
    return call(Entry::kFlushGPUDirectRDMAWrites, Needs::kContext, [=] {
        if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
            (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
             scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        // Device memory is the machine's own, where what a card wrote is seen in order.
        return config().gpudirect ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    });
}
