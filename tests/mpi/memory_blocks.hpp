// SPDX-License-Identifier: BSD-3-Clause
// Blocks of every kind of memory that CUDA knows, for tests of what MPI makes of them.
#pragma once

#include <cuda.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace beeline::test {

enum class Block {
    kHost,
    kPinned,       // cuMemHostAlloc
    kRegistered,   // malloc and cuMemHostRegister
    kDevice,       // cuMemAlloc
    kManaged,      // cuMemAllocManaged
    kVmmPrivate,   // cuMemCreate without a handle type
    kVmmShared,    // with POSIX descriptors, one part
    kVmmParts,     // the same, in parts of one granule
    kPoolDefault,  // cuMemAllocAsync
    kPoolShared,   // a pool with POSIX descriptors
    kPoolManaged,  // a pool of managed memory; where there is none, kManaged
    kImported,     // cuMemAlloc of another rank, opened here
};
constexpr std::size_t kBlocks = 12;
constexpr std::array<const char*, kBlocks> kBlockNames = {
    "host",       "pinned",    "registered",   "device",      "managed",      "vmm_private",
    "vmm_shared", "vmm_parts", "pool_default", "pool_shared", "pool_managed", "imported"};
constexpr const char* to_string(Block block) {
    return kBlockNames[static_cast<std::size_t>(block)];
}
constexpr bool is_host(Block block) {
    return block == Block::kHost || block == Block::kPinned || block == Block::kRegistered;
}
constexpr bool is_vmm(Block block) {
    return block == Block::kVmmPrivate || block == Block::kVmmShared || block == Block::kVmmParts;
}

/// Ends the job when a driver call fails that the test itself needs.
inline void need(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
        std::printf("FAIL %s: CUDA error %d\n", what, static_cast<int>(result));
        std::fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/// The device of this rank with what its blocks need.
struct Device {
    explicit Device(int rank) {
        need(cuInit(0), "cuInit");
        int count = 0;
        need(cuDeviceGetCount(&count), "cuDeviceGetCount");
        ordinal = rank % count;
        need(cuDevicePrimaryCtxRetain(&context, ordinal), "cuDevicePrimaryCtxRetain");
        need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        need(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        CUmemPoolProps props{};
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        props.location.id = ordinal;
        need(cuMemPoolCreate(&pool, &props), "cuMemPoolCreate");
        props.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
        props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
        if (cuMemPoolCreate(&managed_pool, &props) != CUDA_SUCCESS) {
            managed_pool = nullptr;  // drivers before CUDA 13 have none
        }
        const CUmemAllocationProp wanted = properties(true);
        need(cuMemGetAllocationGranularity(&granule, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
             "cuMemGetAllocationGranularity");
    }
    CUmemAllocationProp properties(bool shared) const {
        CUmemAllocationProp props{};
        props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        props.location.id = ordinal;
        props.requestedHandleTypes =
            shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
        return props;
    }

    int ordinal = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUmemoryPool pool = nullptr;
    CUmemoryPool managed_pool = nullptr;
    std::size_t granule = 0;
};

/// Memory of one kind. kImported is made by both ranks of a pair together.
class Memory {
 public:
    Memory(const Device& device, Block block, std::size_t bytes, int partner)
        : device_(device),
          block_(block == Block::kPoolManaged && device.managed_pool == nullptr ? Block::kManaged
                                                                                : block),
          bytes_(bytes) {
        switch (block_) {
            case Block::kHost:
                host_ = std::malloc(bytes);
                break;
            case Block::kPinned:
                need(cuMemHostAlloc(&host_, bytes, 0), "cuMemHostAlloc");
                break;
            case Block::kRegistered:
                host_ = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
                need(cuMemHostRegister(host_, bytes, 0), "cuMemHostRegister");
                break;
            case Block::kDevice:
                need(cuMemAlloc(&address_, bytes), "cuMemAlloc");
                break;
            case Block::kManaged:
                need(cuMemAllocManaged(&address_, bytes, CU_MEM_ATTACH_GLOBAL),
                     "cuMemAllocManaged");
                break;
            case Block::kVmmPrivate:
            case Block::kVmmShared:
            case Block::kVmmParts:
                map_parts();
                break;
            case Block::kPoolDefault:
                need(cuMemAllocAsync(&address_, bytes, device.stream), "cuMemAllocAsync");
                break;
            case Block::kPoolShared:
                need(cuMemAllocFromPoolAsync(&address_, bytes, device.pool, device.stream),
                     "cuMemAllocFromPoolAsync");
                break;
            case Block::kPoolManaged:
                need(cuMemAllocFromPoolAsync(&address_, bytes, device.managed_pool, device.stream),
                     "cuMemAllocFromPoolAsync");
                break;
            case Block::kImported:
                import_from(partner);
                break;
        }
        need(cuStreamSynchronize(device.stream), "cuStreamSynchronize");
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
        switch (block_) {
            case Block::kHost:
                std::free(host_);
                break;
            case Block::kPinned:
                cuMemFreeHost(host_);
                break;
            case Block::kRegistered:
                cuMemHostUnregister(host_);
                std::free(host_);
                break;
            case Block::kDevice:
            case Block::kManaged:
                cuMemFree(address_);
                break;
            case Block::kVmmPrivate:
            case Block::kVmmShared:
            case Block::kVmmParts:
                cuMemUnmap(address_, reserved_);
                cuMemAddressFree(address_, reserved_);
                break;
            case Block::kPoolDefault:
            case Block::kPoolShared:
            case Block::kPoolManaged:
                cuMemFreeAsync(address_, device_.stream);
                cuStreamSynchronize(device_.stream);
                break;
            case Block::kImported:
                cuIpcCloseMemHandle(address_);
                MPI_Barrier(MPI_COMM_WORLD);  // the exporter frees afterwards
                cuMemFree(exported_);
                break;
        }
    }

    Block block() const { return block_; }
    unsigned char* at(std::size_t offset) const {
        return host_ != nullptr ? static_cast<unsigned char*>(host_) + offset
                                : reinterpret_cast<unsigned char*>(address_ + offset);
    }
    void write(std::size_t offset, const std::vector<unsigned char>& from) {
        copy(reinterpret_cast<CUdeviceptr>(at(offset)), reinterpret_cast<CUdeviceptr>(from.data()),
             from.size());
    }
    std::vector<unsigned char> read(std::size_t offset, std::size_t bytes) const {
        std::vector<unsigned char> to(bytes);
        copy(reinterpret_cast<CUdeviceptr>(to.data()), reinterpret_cast<CUdeviceptr>(at(offset)),
             bytes);
        return to;
    }

 private:
    static void copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
        need(cuMemcpy(to, from, bytes), "cuMemcpy");
        need(cuCtxSynchronize(), "cuCtxSynchronize");
    }
    void map_parts() {
        const std::size_t granule = device_.granule;
        reserved_ = (bytes_ + granule - 1) / granule * granule;
        const std::size_t part = block_ == Block::kVmmParts ? granule : reserved_;
        need(cuMemAddressReserve(&address_, reserved_, 0, 0, 0), "cuMemAddressReserve");
        const CUmemAllocationProp props = device_.properties(block_ != Block::kVmmPrivate);
        for (std::size_t at = 0; at < reserved_; at += part) {
            CUmemGenericAllocationHandle handle = 0;
            need(cuMemCreate(&handle, part, &props, 0), "cuMemCreate");
            need(cuMemMap(address_ + at, part, 0, handle, 0), "cuMemMap");
            need(cuMemRelease(handle), "cuMemRelease");
        }
        CUmemAccessDesc access{};
        access.location = props.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        need(cuMemSetAccess(address_, reserved_, &access, 1), "cuMemSetAccess");
    }
    void import_from(int partner) {
        need(cuMemAlloc(&exported_, bytes_), "cuMemAlloc");
        CUipcMemHandle mine;
        CUipcMemHandle theirs;
        need(cuIpcGetMemHandle(&mine, exported_), "cuIpcGetMemHandle");
        MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, partner, 77, &theirs, sizeof theirs, MPI_BYTE,
                     partner, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        need(cuIpcOpenMemHandle(&address_, theirs, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
             "cuIpcOpenMemHandle");
    }

    const Device& device_;
    Block block_;
    std::size_t bytes_;
    void* host_ = nullptr;
    CUdeviceptr address_ = 0;
    CUdeviceptr exported_ = 0;
    std::size_t reserved_ = 0;
};

/// One of Beeline's counters, by its MPI_T name; 0 when there is none of this name.
class Variable {
 public:
    explicit Variable(const char* name) {
        int provided = 0;
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        for (const int wanted : {MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_LEVEL}) {
            int index = 0;
            if (MPI_T_pvar_get_index(name, wanted, &index) == MPI_SUCCESS) {
                int count = 0;
                MPI_T_pvar_session_create(&session_);
                found_ = MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count) ==
                         MPI_SUCCESS;
                return;
            }
        }
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() {
        if (found_) {
            MPI_T_pvar_handle_free(session_, &handle_);
            MPI_T_pvar_session_free(&session_);
        }
        MPI_T_finalize();
    }
    unsigned long long read() const {
        unsigned long long value = 0;
        if (found_) {
            MPI_T_pvar_read(session_, handle_, &value);
        }
        return value;
    }
    bool found() const { return found_; }

 private:
    MPI_T_pvar_session session_ = nullptr;
    MPI_T_pvar_handle handle_ = nullptr;
    bool found_ = false;
};

}  // namespace beeline::test
