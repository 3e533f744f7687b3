// SPDX-License-Identifier: BSD-3-Clause
// Device memory that is exported by file descriptor: cuMemCreate memory, of which a range can have
// many parts, and memory of exportable pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "cuda/driver.hpp"
#include "memory/pointer.hpp"

namespace beeline::mover::cuda_ipc {

/// How an allocation can be given to another process.
enum class HandleKind : std::uint8_t {
    kNone,    ///< not at all: copied through a bounce buffer
    kLegacy,  ///< cuIpcGetMemHandle
    kVmm,     ///< a descriptor for each part
    kPool,    ///< a descriptor of the pool, and data that names the allocation in it
};
inline constexpr std::size_t kHandleKinds = 4;
/// "bounce", "legacy handle", "descriptors", "pool descriptor"; never null.
const char* to_string(HandleKind kind) noexcept;

/// The parts (cuMemMap) that hold a range of addresses, from the start of the first to the end of
/// the last.
struct VmmRange {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t id = 0;              ///< differs when any part was replaced by another
    std::vector<std::uint64_t> parts;  ///< bytes of each
};

/// What the driver says of memory without a legacy handle.
struct Shareable {
    HandleKind kind = HandleKind::kNone;
    CUmemoryPool pool = nullptr;  ///< kPool
    VmmRange range;               ///< kVmm
};

/// Asks how `[data, data + bytes)` can be exported: one driver call, and one more for each further
/// part. kNone also when any part is not exportable, or there are too many of them.
Shareable examine(const cuda::Driver& driver, std::uint64_t data, std::size_t bytes) noexcept;

/// The range as it is now, of the same parts as `range` when nothing changed; its id is 0 when
/// there is none any more.
std::uint64_t current_id(const cuda::Driver& driver, const VmmRange& range) noexcept;

/// A descriptor of the part that starts at `address`, or -1, logged. The caller closes it.
int export_part(const cuda::Driver& driver, std::uint64_t address) noexcept;
/// A descriptor of a pool, or -1, logged. The caller closes it.
int export_pool(const cuda::Driver& driver, CUmemoryPool pool) noexcept;

/// A range of another process being mapped, part by part, in one piece of address space.
class VmmMapping {
 public:
    explicit VmmMapping(const cuda::Driver& driver) noexcept : driver_(driver) {}
    ~VmmMapping();
    VmmMapping(const VmmMapping&) = delete;
    VmmMapping& operator=(const VmmMapping&) = delete;

    /// Reserves address space for `bytes`.
    bool reserve(std::uint64_t bytes) noexcept;
    /// Maps the next part; the descriptor stays the caller's. False when the driver refuses or the
    /// part does not fit.
    bool add(int descriptor, std::uint64_t bytes) noexcept;
    /// Lets `device` use the range, which must be full, and gives it to the caller: to be unmapped
    /// with unmap(). 0 when the driver refuses.
    CUdeviceptr finish(int device) noexcept;
    static void unmap(const cuda::Driver& driver, CUdeviceptr address,
                      std::uint64_t bytes) noexcept;
    /// What the driver answered last.
    CUresult result() const noexcept { return result_; }

 private:
    const cuda::Driver& driver_;
    CUdeviceptr address_ = 0;
    std::uint64_t reserved_ = 0;
    std::uint64_t mapped_ = 0;
    CUresult result_ = CUDA_SUCCESS;
};

}  // namespace beeline::mover::cuda_ipc
