// SPDX-License-Identifier: BSD-3-Clause
// Messages to the user: one sink, set by the host program's boundary; stderr until then.
#pragma once

namespace beeline {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// Receives one complete line without a newline. Must not throw and must not call back into the
/// log.
using LogSink = void (*)(LogLevel level, const char* line);

/// Replaces the sink; null restores stderr. Not thread-safe: called at start and end only.
void set_log_sink(LogSink sink) noexcept;

/// Lines above this level are dropped before they are formatted. Default: kWarning.
void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;

/// Formats and emits one line; longer than 1023 bytes is cut.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...) noexcept;

/// As log(), but at most once in this process for each `key` (a string literal naming the reason).
/// Every degradation to a slower path reports itself this way. Thread-safe.
[[gnu::format(printf, 3, 4)]] void log_once(LogLevel level, const char* key, const char* format,
                                            ...) noexcept;

}  // namespace beeline
