// SPDX-License-Identifier: BSD-3-Clause
// What kind of memory a pointer leads to, asked of the driver for every message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace beeline::cuda {
struct Driver;
}
struct CUctx_st;

namespace beeline::memory {

enum class Kind : std::uint8_t { kHost, kPinned, kManaged, kDevice };

/// A pointer's allocation. Everything but `kind` is meaningful for kManaged and kDevice only; the
/// context, device and driver for kPinned as well.
struct Pointer {
    Kind kind = Kind::kHost;
    bool ipc_capable = false;  ///< cuIpcGetMemHandle can export it
    bool host_access = false;  ///< the CPU may load from and store to the whole allocation as well
    int device = -1;           ///< ordinal in this process
    CUctx_st* context =
        nullptr;             ///< context to copy under; null when host, or when none can be had
    std::uint64_t base = 0;  ///< start of the allocation
    std::uint64_t size = 0;  ///< of the allocation, bytes
    std::uint64_t buffer_id = 0;  ///< changes whenever the address is allocated anew
    const cuda::Driver* driver = nullptr;

    /// True when only the driver may touch the memory (managed memory is moved by the driver as
    /// well).
    bool on_device() const noexcept { return kind == Kind::kDevice || kind == Kind::kManaged; }
    /// Whether these bytes lie in the allocation.
    bool holds(const void* at, std::size_t bytes) const noexcept {
        const std::uint64_t offset = reinterpret_cast<std::uint64_t>(at) - base;
        return offset < size && bytes <= size - offset;
    }
};

/// Allocations on devices that the calling thread need not ask about, for as long as this object
/// lives: those of an operation under way, whose memory must stay until it ends. Scopes nest; the
/// innermost counts.
class KnownScope {
 public:
    /// `places` must outlive the scope; those that are not on a device are passed over.
    explicit KnownScope(std::span<const Pointer> places) noexcept;
    ~KnownScope();
    KnownScope(const KnownScope&) = delete;
    KnownScope& operator=(const KnownScope&) = delete;

 private:
    std::span<const Pointer> before_;
};

/// Classifies the pointer with one driver call, or with none when the process has not loaded
/// libcuda.so.1 or a KnownScope says it. A null pointer is host memory. A "host" verdict is never
/// remembered: the address may be a device's tomorrow. Of the device allocations that the thread
/// asked about last it is remembered what they are: then the call asks for the buffer id alone, as
/// memory freed and allocated anew has another one.
Pointer classify(const void* pointer) noexcept;

/// The same, but the driver is not asked where always_host() knows: such memory is host memory,
/// also if it is pinned.
Pointer look_at(const void* pointer) noexcept;

const char* to_string(Kind kind) noexcept;

}  // namespace beeline::memory
