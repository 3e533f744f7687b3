// SPDX-License-Identifier: BSD-3-Clause
// Copies and reductions on a GPU, in the context that owns the buffer.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "coll/exec/engine.hpp"
#include "coll/exec/host_engine.hpp"
#include "cuda/module.hpp"
#include "cuda/stream.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll::exec {

/// One kernel launch a reduction, on a non-blocking stream of its own; flush() waits for that
/// stream. Where a kernel cannot be had (the driver refuses the image, no device memory for
/// scratch), the reduction runs on the CPU through copies: slower, and as correct. Keeps stream,
/// kernels and scratch of each context it met.
class DeviceEngine final : public ReduceEngine {
 public:
    DeviceEngine() = default;
    DeviceEngine(const DeviceEngine&) = delete;
    DeviceEngine& operator=(const DeviceEngine&) = delete;
    ~DeviceEngine() override;

    /// Works for buffers like `place` (which must be on a device) until the next bind.
    void bind(const memory::Pointer& place) noexcept;

    Result<void*> scratch(std::size_t bytes) noexcept override;
    Status copy(void* target, const void* source, std::size_t bytes) noexcept override;
    Status reduce(kernel::Type type, kernel::Op op, const void* left, const void* right, void* out,
                  std::size_t count) noexcept override;
    Status flush() noexcept override;
    Status poll() noexcept override;

 private:
    /// What is kept in one context.
    struct Home {
        const cuda::Driver* driver = nullptr;
        CUcontext context = nullptr;
        cuda::Stream stream;
        cuda::Module module;
        std::array<CUfunction, kernel::kKernels> functions{};
        bool kernels_refused = false;
        CUdeviceptr scratch = 0;
        std::size_t capacity = 0;
        std::uint64_t scratch_id = 0;  ///< buffer id of the scratch: shows a context made anew
    };

    Home* home() noexcept;
    static bool open(Home& home) noexcept;
    static void renew(Home& home) noexcept;
    static bool scratch_is_ours(const Home& home) noexcept;
    static void free_scratch(Home& home) noexcept;
    static bool grow_scratch(Home& home, std::size_t bytes) noexcept;
    static CUfunction function(Home& home, kernel::Type type, kernel::Op op) noexcept;
    template <class Enqueue>
    Status enqueue(const char* call, const void* pointer, Enqueue&& call_driver) noexcept;
    Status reduce_on_host(kernel::Type type, kernel::Op op, const void* left, const void* right,
                          void* out, std::size_t count) noexcept;

    memory::Pointer place_;
    std::vector<std::unique_ptr<Home>> homes_;
    bool scratch_on_host_ = false;
    HostEngine host_;    ///< scratch when the device has no room
    HostEngine bounce_;  ///< operands of reduce_on_host
};

}  // namespace beeline::coll::exec
