// SPDX-License-Identifier: BSD-3-Clause
// Streams and events as move-only classes.
#pragma once

#include <utility>

#include "cuda/driver.hpp"

namespace beeline::cuda {

/// An event without timing, of the context that was current when it was made.
class Event {
 public:
    Event() = default;
    /// Needs a current context.
    static Result<Event> create(const Driver& driver) noexcept;
    Event(Event&& other) noexcept
        : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&& other) noexcept {
        std::swap(driver_, other.driver_);
        std::swap(event_, other.event_);
        return *this;
    }
    ~Event();
    CUevent get() const noexcept { return event_; }
    explicit operator bool() const noexcept { return event_ != nullptr; }

 private:
    const Driver* driver_ = nullptr;
    CUevent event_ = nullptr;
};

/// A non-blocking stream: never waits for, nor is waited for by, the legacy default stream.
class Stream {
 public:
    Stream() = default;
    /// Needs a current context.
    static Result<Stream> create(const Driver& driver) noexcept;
    Stream(Stream&& other) noexcept
        : driver_(other.driver_), stream_(std::exchange(other.stream_, nullptr)) {}
    Stream& operator=(Stream&& other) noexcept {
        std::swap(driver_, other.driver_);
        std::swap(stream_, other.stream_);
        return *this;
    }
    ~Stream();
    CUstream get() const noexcept { return stream_; }
    explicit operator bool() const noexcept { return stream_ != nullptr; }
    /// Its context is gone, and the handle may be another's by now: it is not destroyed.
    void forget() noexcept { stream_ = nullptr; }

 private:
    const Driver* driver_ = nullptr;
    CUstream stream_ = nullptr;
};

}  // namespace beeline::cuda
