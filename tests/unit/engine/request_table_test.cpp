// SPDX-License-Identifier: BSD-3-Clause
// Ids find what they were given out for, and nothing else.
#include "engine/request_table.hpp"

#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/uniform.hpp"

namespace beeline::engine {
namespace {

TEST(RequestTable, ZeroAndStrangersFindNothing) {
    RequestTable<int> table;
    int value = 0;
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(UINT64_MAX), nullptr);
    const std::uint64_t id = table.add(&value);
    EXPECT_NE(id, 0U);
    EXPECT_EQ(table.find(id), &value);
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(id + 1), nullptr) << "an index beyond the table";
    EXPECT_EQ(table.find(id + (std::uint64_t{1} << 32)), nullptr) << "a generation to come";
}

TEST(RequestTable, OldIdDoesNotFindTheNextRequest) {
    RequestTable<int> table;
    int first = 0;
    int second = 0;
    const std::uint64_t old_id = table.add(&first);
    table.remove(old_id);
    EXPECT_EQ(table.find(old_id), nullptr);
    const std::uint64_t new_id = table.add(&second);
    EXPECT_EQ(static_cast<std::uint32_t>(new_id), static_cast<std::uint32_t>(old_id))
        << "the place is used again";
    EXPECT_NE(new_id, old_id);
    EXPECT_EQ(table.find(old_id), nullptr);
    table.remove(old_id);
    EXPECT_EQ(table.find(new_id), &second) << "removing an old id removes nothing";
    EXPECT_EQ(table.size(), 1U);
    EXPECT_EQ(table.used(), 1U);
    table.remove(new_id);
    EXPECT_EQ(table.used(), 0U);
}

TEST(RequestTable, SecretsMakeIdsDiffer) {
    std::set<std::uint64_t> ids;
    int value = 0;
    for (std::uint64_t secret = 0; secret < 50; ++secret) {
        RequestTable<int> table(secret);
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t id = table.add(&value);
            ids.insert(id);
            table.remove(id);
        }
    }
    EXPECT_EQ(ids.size(), 1000U);
}

RC_GTEST_PROP(RequestTable, AgreesWithAMap, ()) {
    RequestTable<int> table(*test::uniform<std::uint64_t>(0, 3));
    std::map<std::uint64_t, int*> model;
    std::vector<int> values(64);
    std::vector<std::uint64_t> given;
    std::size_t most = 0;
    for (int step = 0; step < 300; ++step) {
        if (model.size() < values.size() && *rc::gen::arbitrary<bool>()) {
            int* value = &values[*test::uniform<std::size_t>(0, values.size())];
            const std::uint64_t id = table.add(value);
            RC_ASSERT(id != 0U);
            RC_ASSERT(model.emplace(id, value).second);
            given.push_back(id);
        } else if (!given.empty()) {
            const std::uint64_t id = given[*test::uniform<std::size_t>(0, given.size())];
            table.remove(id);
            model.erase(id);
        }
        most = std::max(most, model.size());
    }
    for (const std::uint64_t id : given) {
        const auto known = model.find(id);
        RC_ASSERT(table.find(id) == (known != model.end() ? known->second : nullptr));
    }
    RC_ASSERT(table.size() == most);
}

}  // namespace
}  // namespace beeline::engine
