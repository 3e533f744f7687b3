// SPDX-License-Identifier: BSD-3-Clause
// Copies between any two kinds of memory on Beeline's own streams: synchronous, and started to be
// asked for later.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "cuda/stream.hpp"
#include "datatype/layout.hpp"
#include "memory/pointer.hpp"

namespace beeline::memory {

/// The side of a copy that decides the context: whichever of the two is on a device, the
/// destination first.
inline const Pointer& device_side(const Pointer& destination, const Pointer& source) noexcept {
    return destination.on_device() ? destination : source;
}

/// Whether the processor moves so few bytes from or to this memory itself: host memory always; a
/// device's where the driver says that the processor may touch it
/// (CU_POINTER_ATTRIBUTE_HOST_POINTER, as on Grace Hopper), up to pml_beeline_direct_copy_limit.
/// Copies by the driver take microseconds before the first byte moves.
bool is_direct(const Pointer& where, const void* at, std::size_t bytes) noexcept;

/// Copies `bytes` and returns when they are there. What is_direct() on both sides is memcpy;
/// anything else runs on a non-blocking stream of the device side's context, waited for alone. The
/// caller's context is left as it was. kDriver after logging the call, the error and the pointer.
Status copy(void* destination, const Pointer& to, const void* source, const Pointer& from,
            std::size_t bytes) noexcept;

/// As above, classifying both pointers itself.
Status copy(void* destination, const void* source, std::size_t bytes) noexcept;

/// Gathers the packed range [skip, skip + bytes) of a buffer of any kind into host memory `out`,
/// touching the layout's runs only: by one launch where kernels are to be had and `out` is memory
/// that the device reaches, else through memory on the device, a launch and a copy for each MiB; by
/// one copy per run where runs are few. One wait.
Status pack(const datatype::Layout& layout, std::size_t count, const void* buffer,
            const Pointer& from, std::size_t skip, void* out, std::size_t bytes) noexcept;

/// The reverse: scatters host memory into the runs; gaps stay untouched.
Status unpack(const datatype::Layout& layout, std::size_t count, void* buffer, const Pointer& to,
              std::size_t skip, const void* in, std::size_t bytes) noexcept;

/// What is known of the packed side of a move of non-contiguous data: kernels reach it when it is
/// registered with CUDA, which the driver is asked where the caller does not know, or memory of a
/// device.
enum class Packing : std::uint8_t { kAsk, kPinned };

/// What to do when Beeline's streams in a context are gone, as after a device reset: make new ones,
/// or fail with kNotFound, because the addresses may be gone as well.
enum class WhenLost { kRenew, kFail };

/// How often streams were found to be gone: when it has changed, so may all that was mapped have
/// been.
unsigned contexts_lost() noexcept;

/// A copy that was started. Move-only; must be finished or dropped before its memory goes away.
class AsyncCopy {
 public:
    AsyncCopy() = default;
    /// Starts copying on the device side's asynchronous stream, one for each direction: copies
    /// started under one context in one direction finish in order.
    static Result<AsyncCopy> start(void* destination, const Pointer& to, const void* source,
                                   const Pointer& from, std::size_t bytes,
                                   WhenLost when_lost = WhenLost::kRenew) noexcept;
    /// As pack() and unpack(), started to be asked for later; a layout in host memory is done at
    /// once.
    static Result<AsyncCopy> pack(const datatype::Layout& layout, std::size_t count,
                                  const void* buffer, const Pointer& from, std::size_t skip,
                                  void* out, std::size_t bytes, Packing packing = Packing::kAsk,
                                  WhenLost when_lost = WhenLost::kRenew) noexcept;
    static Result<AsyncCopy> unpack(const datatype::Layout& layout, std::size_t count, void* buffer,
                                    const Pointer& to, std::size_t skip, const void* in,
                                    std::size_t bytes, Packing packing = Packing::kAsk,
                                    WhenLost when_lost = WhenLost::kRenew) noexcept;
    AsyncCopy(AsyncCopy&& other) noexcept;
    AsyncCopy& operator=(AsyncCopy&& other) noexcept;
    ~AsyncCopy();
    /// True when there is nothing to wait for; asks nobody.
    bool ended() const noexcept { return done_; }
    /// True when this copy cannot end before `other`, which was started earlier.
    bool behind(const AsyncCopy& other) const noexcept {
        return slot_ != nullptr && other.slot_ != nullptr && queue_ == other.queue_;
    }
    /// kRetry while under way, kOk once done (then and later), kDriver when it failed (logged).
    Status poll() noexcept;

 private:
    struct Way {
        bool inward;   ///< to the device
        bool kernels;  ///< may be done by a kernel
    };
    template <class Work>
    static Result<AsyncCopy> enqueue(const Pointer& side, const void* pointer, Way way,
                                     WhenLost when_lost, Work&& work) noexcept;

    struct Slot* slot_ = nullptr;
    const void* queue_ = nullptr;  // names the stream
    bool done_ = true;
    Status outcome_ = Status::kOk;
};

/// Registers host memory with CUDA so that copy engines reach it directly. Returns false (once
/// logged) when the driver refuses; the memory is then usable all the same, only slower.
bool register_host(const cuda::Driver& driver, CUctx_st* context, void* address,
                   std::size_t bytes) noexcept;
void unregister_host(const cuda::Driver& driver, CUctx_st* context, void* address) noexcept;

/// Destroys the streams and events kept for copies. Quiet when the driver or a context is already
/// gone.
void release_copy_resources() noexcept;

}  // namespace beeline::memory
