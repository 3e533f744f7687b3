// SPDX-License-Identifier: BSD-3-Clause
// Levels, the sink, the cut of long lines, and what is said only once.
#include "base/log.hpp"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/log_capture.hpp"

namespace beeline {
namespace {

using test::LogCapture;

TEST(Log, DropsWhatIsAboveTheLevel) {
    LogCapture capture(LogLevel::kWarning);
    log(LogLevel::kError, "error %d", 1);
    log(LogLevel::kWarning, "warning %s", "two");
    log(LogLevel::kInfo, "info");
    log(LogLevel::kDebug, "debug");
    ASSERT_EQ(capture.lines(), (std::vector<std::string>{"error 1", "warning two"}));
    EXPECT_EQ(capture.levels(), (std::vector{LogLevel::kError, LogLevel::kWarning}));
}

TEST(Log, CutsLongLines) {
    LogCapture capture;
    const std::string text(5000, 'x');
    log(LogLevel::kError, "%s", text.c_str());
    ASSERT_EQ(capture.lines().size(), 1u);
    EXPECT_EQ(capture.lines().front(), text.substr(0, 1023));
}

TEST(Log, GoesToStderrWithoutASink) {
    set_log_sink(nullptr);
    testing::internal::CaptureStderr();
    log(LogLevel::kError, "plain");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "beeline: plain\n");
}

TEST(LogOnce, SaysAKeyOnceAndOthersToo) {
    LogCapture capture;
    for (int round = 0; round < 3; ++round) {
        log_once(LogLevel::kWarning, "log_test first key", "first %d", round);
        log_once(LogLevel::kWarning, "log_test second key", "second %d", round);
    }
    EXPECT_EQ(capture.lines(), (std::vector<std::string>{"first 0", "second 0"}));
}

TEST(LogOnce, ComparesKeysByText) {
    LogCapture capture;
    static char first[] = "log_test equal keys";
    static char second[] = "log_test equal keys";
    log_once(LogLevel::kWarning, first, "said");
    log_once(LogLevel::kWarning, second, "said");
    EXPECT_EQ(capture.lines().size(), 1u);
}

TEST(LogOnce, ADroppedLineDoesNotUseUpItsKey) {
    LogCapture capture(LogLevel::kError);
    log_once(LogLevel::kInfo, "log_test dropped key", "hidden");
    EXPECT_TRUE(capture.lines().empty());
    set_log_level(LogLevel::kInfo);
    log_once(LogLevel::kInfo, "log_test dropped key", "shown");
    EXPECT_EQ(capture.lines(), (std::vector<std::string>{"shown"}));
}

TEST(LogOnce, OneOfManyThreadsSpeaks) {
    LogCapture capture;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) {
        threads.emplace_back([] {
            for (int round = 0; round < 100; ++round) {
                log_once(LogLevel::kWarning, "log_test thread key", "one voice");
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(capture.count("one voice"), 1);
}

/// Fills the table with 1000 keys; exits 0 when the number of lines was bounded and old keys stay
/// known.
[[noreturn]] void flood() {
    LogCapture capture;
    std::vector<std::string> keys;
    for (int number = 0; number < 1000; ++number) {
        keys.push_back("flood " + std::to_string(number));
    }
    for (int round = 0; round < 2; ++round) {
        for (const std::string& key : keys) {
            log_once(LogLevel::kWarning, key.c_str(), "%s", key.c_str());
        }
    }
    const bool bounded = !capture.lines().empty() && capture.lines().size() < keys.size();
    std::_Exit(bounded && capture.count("flood 0") == 1 ? 0 : 1);
}

TEST(LogOnceDeathTest, AFullTableIsSilentInsteadOfFlooding) {
    EXPECT_EXIT(flood(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace beeline
