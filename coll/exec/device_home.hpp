// SPDX-License-Identifier: BSD-3-Clause
// What all GPU engines of a process share in one context: kernels, and streams that are idle.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "coll/kernel/types.hpp"
#include "cuda/module.hpp"
#include "cuda/stream.hpp"

namespace beeline::coll::exec {

/// One for each context, made at first use and there until the process ends, so that thousands of
/// communicators load the kernels once and have as many streams as operations run at a time.
/// Thread-safe. A device reset kills what a home holds; whoever meets an error of a dead handle
/// calls renew() with the generation of what it used. Every function but of() needs the context
/// current.
class DeviceHome {
 public:
    /// The context's home; null when memory is refused. Costs a walk over the contexts in use.
    static DeviceHome* of(const cuda::Driver& driver, CUcontext context) noexcept;

    /// Unloads all kernels and destroys the idle streams, at finalize. Homes stay and can be used
    /// again.
    static void release_all() noexcept;

    const cuda::Driver& driver() const noexcept { return driver_; }
    CUcontext context() const noexcept { return context_; }

    /// A stream for the caller alone, together with the generation it belongs to.
    struct Lease {
        cuda::Stream stream;
        std::uint64_t generation = 0;
    };
    /// Empty when the driver refuses another stream.
    Lease lease() noexcept;
    /// Takes a stream back, on which nothing is under way.
    void give_back(Lease lease) noexcept;

    /// The kernel, or null when it cannot be had (which was logged): reduce on the host then.
    CUfunction function(kernel::Type type, kernel::Op op) noexcept;

    std::uint64_t generation() const noexcept {
        return generation_.load(std::memory_order_acquire);
    }
    /// Forgets everything of `generation`, unless that happened already.
    void renew(std::uint64_t generation) noexcept;

 private:
    struct Image {
        cuda::Module module;
        bool tried = false;
    };

    DeviceHome(const cuda::Driver& driver, CUcontext context) noexcept
        : driver_(driver), context_(context) {}

    void load(Image& image, kernel::Family family) noexcept;
    void release() noexcept;

    const cuda::Driver& driver_;
    const CUcontext context_;
    DeviceHome* next_ = nullptr;  ///< list of all homes

    std::atomic<std::uint64_t> generation_{0};
    std::array<std::atomic<CUfunction>, kernel::kKernels> functions_{};
    std::mutex mutex_;
    std::array<Image, kernel::kFamilies> images_;
    std::vector<cuda::Stream> idle_;
};

}  // namespace beeline::coll::exec
