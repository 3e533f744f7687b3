// SPDX-License-Identifier: BSD-3-Clause
// Copies and reductions on a GPU, in the context that owns the buffer.
#pragma once

#include <memory>
#include <vector>

#include "coll/exec/device_home.hpp"
#include "coll/exec/engine.hpp"
#include "coll/exec/host_engine.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll::exec {

/// One kernel launch a reduction, on a non-blocking stream that the engine has for itself from the
/// first work until flush() or poll() finds all done. Where a kernel cannot be had (a type that no
/// GPU computes, the driver refuses the image, no device memory for scratch), the reduction runs on
/// the CPU through copies: slower, and as correct. Keeps scratch in each context it met; streams
/// and kernels belong to the process (DeviceHome).
class DeviceEngine final : public ReduceEngine {
 public:
    DeviceEngine() = default;
    DeviceEngine(const DeviceEngine&) = delete;
    DeviceEngine& operator=(const DeviceEngine&) = delete;
    ~DeviceEngine() override;

    /// Works for buffers like `place` (which must be on a device) until the next bind.
    void bind(const memory::Pointer& place) noexcept;

    /// What its scratch for the bound place is to messages, once there is some; else host memory.
    memory::Pointer place_of_scratch() const noexcept;

    Result<void*> scratch(std::size_t bytes) noexcept override;
    Status copy(void* target, const void* source, std::size_t bytes) noexcept override;
    Status reduce(kernel::Type type, kernel::Op op, const void* left, const void* right, void* out,
                  std::size_t count) noexcept override;
    /// One launch.
    Status reduce_many(kernel::Type type, kernel::Op op, std::span<const void* const> inputs,
                       void* out, std::size_t count) noexcept override;
    Status flush() noexcept override;
    Status poll() noexcept override;

 private:
    /// What this engine has in one context.
    struct Room {
        DeviceHome* home = nullptr;
        DeviceHome::Lease lease;
        CUdeviceptr scratch = 0;
        std::size_t capacity = 0;
        memory::Pointer scratch_place;  ///< its buffer id shows a context made anew
        std::uint64_t scratch_generation = 0;
    };

    Room* room() noexcept;
    static bool hold_stream(Room& room) noexcept;
    static void release_stream(Room& room) noexcept;
    static void renew(Room& room, std::uint64_t generation) noexcept;
    static bool scratch_is_ours(const Room& room) noexcept;
    static void free_scratch(Room& room) noexcept;
    static bool grow_scratch(Room& room, std::size_t bytes) noexcept;
    template <class Enqueue>
    Status enqueue(const char* call, const void* pointer, Enqueue&& call_driver) noexcept;
    Status reduce_on_host(kernel::Type type, kernel::Op op, std::span<const void* const> inputs,
                          void* out, std::size_t count) noexcept;

    memory::Pointer place_;
    std::vector<std::unique_ptr<Room>> rooms_;
    bool scratch_on_host_ = false;
    HostEngine host_;    ///< scratch when the device has no room
    HostEngine bounce_;  ///< operands of reduce_on_host
};

}  // namespace beeline::coll::exec
