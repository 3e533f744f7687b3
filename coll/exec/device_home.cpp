// SPDX-License-Identifier: BSD-3-Clause
// Kernels and streams by context.
#include "coll/exec/device_home.hpp"

#include <new>
#include <utility>

#include "base/log.hpp"
#include "coll/kernel/image.hpp"
#include "cuda/context.hpp"

namespace beeline::coll::exec {
namespace {

// Homes are added, never removed: a walk needs no lock.
constinit std::mutex adding;
constinit std::atomic<DeviceHome*> homes{nullptr};

}  // namespace

DeviceHome* DeviceHome::of(const cuda::Driver& driver, CUcontext context) noexcept {
    const auto find = [context] {
        DeviceHome* home = homes.load(std::memory_order_acquire);
        while (home != nullptr && home->context_ != context) {
            home = home->next_;
        }
        return home;
    };
    if (DeviceHome* home = find(); home != nullptr) {
        return home;
    }
    const std::lock_guard lock(adding);
    if (DeviceHome* home = find(); home != nullptr) {
        return home;
    }
    auto* home = new (std::nothrow) DeviceHome(driver, context);
    if (home != nullptr) {
        home->next_ = homes.load(std::memory_order_relaxed);
        homes.store(home, std::memory_order_release);
    }
    return home;
}

void DeviceHome::release_all() noexcept {
    for (DeviceHome* home = homes.load(std::memory_order_acquire); home != nullptr;
         home = home->next_) {
        const cuda::ContextScope scope(home->driver_, home->context_);
        if (scope.result() == CUDA_SUCCESS) {
            home->release();
        } else {
            home->renew(home->generation());
        }
    }
}

void DeviceHome::release() noexcept {
    const cuda::CaptureScope captures(driver_);
    const std::lock_guard lock(mutex_);
    idle_.clear();
    for (auto& function : functions_) {
        function.store(nullptr, std::memory_order_relaxed);
    }
    images_ = {};
    generation_.fetch_add(1, std::memory_order_release);
}

DeviceHome::Lease DeviceHome::lease() noexcept {
    Lease lease;
    {
        const std::lock_guard lock(mutex_);
        lease.generation = generation();
        if (!idle_.empty()) {
            lease.stream = std::move(idle_.back());
            idle_.pop_back();
            return lease;
        }
    }
    const cuda::CaptureScope captures(driver_);
    auto made = cuda::Stream::create(driver_);
    if (made) {
        lease.stream = std::move(*made);
    }
    return lease;
}

void DeviceHome::give_back(Lease lease) noexcept {
    const std::lock_guard lock(mutex_);
    if (lease.generation != generation()) {
        lease.stream.forget();
        return;
    }
    try {
        idle_.push_back(std::move(lease.stream));
    } catch (const std::bad_alloc&) {
        return;  // destroyed
    }
}

CUfunction DeviceHome::function(kernel::Type type, kernel::Op op) noexcept {
    const int index = kernel::kernel_index(type, op);
    if (index < 0) {
        return nullptr;
    }
    auto& kept = functions_[static_cast<std::size_t>(index)];
    if (CUfunction function = kept.load(std::memory_order_acquire); function != nullptr) {
        return function;
    }
    const cuda::CaptureScope captures(driver_);
    const std::lock_guard lock(mutex_);
    const kernel::Family family = kernel::family_of(index);
    Image& image = images_[static_cast<std::size_t>(family)];
    if (!image.tried) {
        load(image, family);
    }
    if (!image.module) {
        return nullptr;
    }
    const auto found = image.module.function(kernel::kernel_name(type, op));
    if (found) {
        kept.store(found.value(), std::memory_order_release);
    }
    return found ? found.value() : nullptr;
}

void DeviceHome::load(Image& image, kernel::Family family) noexcept {
    image.tried = true;
    auto module = cuda::Module::load(driver_, kernel::reduce_image(family));
    if (!module) {
        return;  // the reason is logged
    }
    if (!module->function(kernel::source_kernel_name())) {
        log_once(LogLevel::kWarning, "coll.kernels",
                 "the reduction kernels found are not this version's (%s is missing; with the "
                 "software device, check SOFTCUDA_KERNELS): reductions run on the host",
                 kernel::source_kernel_name());
        return;
    }
    image.module = std::move(*module);
}

void DeviceHome::renew(std::uint64_t generation) noexcept {
    const std::lock_guard lock(mutex_);
    if (generation != this->generation()) {
        return;
    }
    for (cuda::Stream& stream : idle_) {
        stream.forget();
    }
    idle_.clear();
    for (auto& function : functions_) {
        function.store(nullptr, std::memory_order_relaxed);
    }
    for (Image& image : images_) {
        image.module.forget();
        image.tried = false;
    }
    generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace beeline::coll::exec
