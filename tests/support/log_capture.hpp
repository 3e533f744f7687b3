// SPDX-License-Identifier: BSD-3-Clause
// Collects what the log says during a test.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace beeline::test {

/// While one lives (one at a time), every line goes to it, of every level up to `level`.
class LogCapture {
 public:
    explicit LogCapture(LogLevel level = LogLevel::kDebug) : previous_level_(log_level()) {
        current() = this;
        set_log_sink([](LogLevel line_level, const char* line) {
            const std::scoped_lock lock(current()->mutex_);
            current()->levels_.push_back(line_level);
            current()->lines_.emplace_back(line);
        });
        set_log_level(level);
    }
    ~LogCapture() {
        set_log_sink(nullptr);
        set_log_level(previous_level_);
        current() = nullptr;
    }
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;

    const std::vector<std::string>& lines() const { return lines_; }
    const std::vector<LogLevel>& levels() const { return levels_; }

    /// How many lines contain `text`.
    int count(const std::string& text) const {
        int found = 0;
        for (const auto& line : lines_) {
            found += line.find(text) != std::string::npos ? 1 : 0;
        }
        return found;
    }

 private:
    static LogCapture*& current() {
        static LogCapture* capture = nullptr;
        return capture;
    }

    LogLevel previous_level_;
    std::mutex mutex_;
    std::vector<LogLevel> levels_;
    std::vector<std::string> lines_;
};

}  // namespace beeline::test
