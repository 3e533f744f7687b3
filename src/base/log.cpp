// SPDX-License-Identifier: BSD-3-Clause
// The log: formatting into a stack buffer, a sink, and a bounded memory of what was said once.
#include "base/log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace beeline {
namespace {

constexpr std::size_t kLineBytes = 1024;
constexpr std::size_t kOnceKeys = 128;

void to_stderr(LogLevel, const char* line) {
    std::fprintf(stderr, "beeline: %s\n", line);
}

std::atomic<LogSink> sink{nullptr};
std::atomic<LogLevel> level_limit{LogLevel::kWarning};
std::atomic<const char*> said[kOnceKeys];

void emit(LogLevel level, const char* format, std::va_list args) noexcept {
    char line[kLineBytes];
    std::vsnprintf(line, sizeof line, format, args);
    const LogSink current = sink.load(std::memory_order_acquire);
    (current != nullptr ? current : to_stderr)(level, line);
}

/// True for the first caller with this key. A full table stays silent rather than flooding.
bool first_time(const char* key) noexcept {
    for (auto& slot : said) {
        const char* known = slot.load(std::memory_order_acquire);
        if (known == nullptr && slot.compare_exchange_strong(known, key)) {
            return true;
        }
        if (std::strcmp(known, key) == 0) {
            return false;
        }
    }
    return false;
}

}  // namespace

void set_log_sink(LogSink new_sink) noexcept {
    sink.store(new_sink, std::memory_order_release);
}

void set_log_level(LogLevel level) noexcept {
    level_limit.store(level, std::memory_order_relaxed);
}

LogLevel log_level() noexcept {
    return level_limit.load(std::memory_order_relaxed);
}

void log(LogLevel level, const char* format, ...) noexcept {
    if (level > log_level()) {
        return;
    }
    std::va_list args;
    va_start(args, format);
    emit(level, format, args);
    va_end(args);
}

void log_once(LogLevel level, const char* key, const char* format, ...) noexcept {
    if (level > log_level() || !first_time(key)) {
        return;
    }
    std::va_list args;
    va_start(args, format);
    emit(level, format, args);
    va_end(args);
}

}  // namespace beeline
