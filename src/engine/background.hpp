// SPDX-License-Identifier: BSD-3-Clause
// A thread that moves large messages on while the application computes.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <memory>

#include "base/result.hpp"
#include "engine/engine.hpp"

namespace beeline::engine {

/// Drives an engine beside its callers. It sleeps while no large request is under way, keeps out of
/// the way while a caller makes progress itself, and never calls a request's done: what ends in it
/// is told by the next progress() of a caller. All signals are blocked in it.
class Background {
 public:
    /// Starts the thread; the engine's lock is in use from now on. Call before the engine's first
    /// message. kUnsupported, logged, when the system gives no thread.
    static Result<std::unique_ptr<Background>> start(Engine& engine);
    /// Ends the thread and waits for it. In a child process, where it does not exist, does nothing.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Whether the caller is the thread itself.
    bool is_current() const noexcept { return pthread_equal(thread_, pthread_self()) != 0; }

 private:
    explicit Background(Engine& engine) noexcept : engine_(engine) {}
    static void* main(void* self) noexcept;
    void run() noexcept;
    bool drive(std::uint32_t entries) noexcept;

    Engine& engine_;
    std::atomic<bool> stop_{false};
    pthread_t thread_{};
    pid_t process_ = 0;
};

}  // namespace beeline::engine
