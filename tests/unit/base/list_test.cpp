// SPDX-License-Identifier: BSD-3-Clause
// The intrusive list.
#include "base/list.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace beeline {
namespace {

struct First;
struct Second;
struct Item : ListNode<First>, ListNode<Second> {
    explicit Item(int number) : value(number) {}
    int value;
};

template <class Tag>
std::vector<int> values(List<Item, Tag>& list) {
    std::vector<int> result;
    for (Item* item = list.front(); item != nullptr; item = list.after(item)) {
        result.push_back(item->value);
    }
    return result;
}

TEST(List, StartsEmpty) {
    List<Item, First> list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.front(), nullptr);
    EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(List, KeepsTheOrderOfBothEnds) {
    List<Item, First> list;
    Item one(1);
    Item two(2);
    Item three(3);
    list.push_back(&two);
    list.push_back(&three);
    list.push_front(&one);
    EXPECT_EQ(values(list), (std::vector{1, 2, 3}));
    EXPECT_EQ(list.pop_front(), &one);
    EXPECT_EQ(list.pop_front(), &two);
    EXPECT_EQ(list.pop_front(), &three);
    EXPECT_TRUE(list.empty());
}

TEST(List, RemovesFromAnywhereAndTakesBack) {
    for (int victim = 0; victim < 3; ++victim) {
        List<Item, First> list;
        Item items[] = {Item(0), Item(1), Item(2)};
        std::vector<int> expected;
        for (Item& item : items) {
            list.push_back(&item);
            if (item.value != victim) {
                expected.push_back(item.value);
            }
        }
        List<Item, First>::remove(&items[victim]);
        EXPECT_FALSE(items[victim].ListNode<First>::linked());
        EXPECT_EQ(values(list), expected);
        list.push_back(&items[victim]);
        expected.push_back(victim);
        EXPECT_EQ(values(list), expected);
    }
}

TEST(List, AnElementIsInTwoListsIndependently) {
    List<Item, First> first;
    List<Item, Second> second;
    Item one(1);
    Item two(2);
    first.push_back(&one);
    first.push_back(&two);
    second.push_back(&two);
    second.push_back(&one);
    List<Item, First>::remove(&one);
    EXPECT_EQ(values(first), (std::vector{2}));
    EXPECT_EQ(values(second), (std::vector{2, 1}));
    EXPECT_TRUE(one.ListNode<Second>::linked());
}

}  // namespace
}  // namespace beeline
