// SPDX-License-Identifier: BSD-3-Clause
// The outcome of a call that can fail in service: a status, or a value.
#pragma once

#include <cassert>
#include <optional>
#include <utility>

namespace beeline {

/// Why a call did not do what it was asked. kRetry means "not now, nothing is wrong".
enum class Status {
    kOk,
    kRetry,
    kInvalid,
    kNotFound,
    kUnsupported,
    kUnreachable,
    kNoMemory,
    kTruncated,
    kDriver,
    kIo,
    kCanceled,
};

/// The status as a word for messages; never null.
constexpr const char* to_string(Status status) noexcept {
    switch (status) {
        case Status::kOk:
            return "ok";
        case Status::kRetry:
            return "retry";
        case Status::kInvalid:
            return "invalid argument";
        case Status::kNotFound:
            return "not found";
        case Status::kUnsupported:
            return "not supported";
        case Status::kUnreachable:
            return "unreachable";
        case Status::kNoMemory:
            return "out of memory";
        case Status::kTruncated:
            return "truncated";
        case Status::kDriver:
            return "CUDA driver error";
        case Status::kIo:
            return "input/output error";
        case Status::kCanceled:
            return "canceled";
    }
    return "unknown";
}

/// A value, or the status that says why there is none (never kOk then).
template <class T>
class Result {
 public:
    Result(T value)
        : value_(std::move(value)) {}          // NOLINT: implicit on purpose, as in `return value;`
    Result(Status status) : status_(status) {  // NOLINT
        assert(status != Status::kOk);
    }

    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    Status status() const noexcept { return status_; }
    T& value() & noexcept {
        assert(ok());
        return *value_;
    }
    const T& value() const& noexcept {
        assert(ok());
        return *value_;
    }
    T&& value() && noexcept {
        assert(ok());
        return std::move(*value_);
    }
    T* operator->() noexcept { return &value(); }
    T& operator*() noexcept { return value(); }

 private:
    std::optional<T> value_;
    Status status_ = Status::kOk;
};

}  // namespace beeline
