// SPDX-License-Identifier: BSD-3-Clause
// Result and the words of Status.
#include "base/result.hpp"

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace beeline {
namespace {

TEST(Result, HoldsAValueOrAReason) {
    const Result<int> good = 7;
    EXPECT_TRUE(good);
    EXPECT_EQ(good.value(), 7);
    EXPECT_EQ(good.status(), Status::kOk);
    const Result<int> bad = Status::kNoMemory;
    EXPECT_FALSE(bad);
    EXPECT_EQ(bad.status(), Status::kNoMemory);
}

TEST(Result, MovesItsValueOut) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
    const std::unique_ptr<int> owner = std::move(result).value();
    ASSERT_NE(owner, nullptr);
    EXPECT_EQ(*owner, 3);
}

TEST(Status, EachHasItsOwnWord) {
    std::set<std::string> words;
    for (int status = 0; status <= static_cast<int>(Status::kCanceled); ++status) {
        words.insert(to_string(static_cast<Status>(status)));
    }
    EXPECT_EQ(words.size(), static_cast<std::size_t>(Status::kCanceled) + 1);
    EXPECT_FALSE(words.contains("unknown"));
}

}  // namespace
}  // namespace beeline
