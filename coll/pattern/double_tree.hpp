// SPDX-License-Identifier: BSD-3-Clause
// Two binary trees on the same ranks such that (nearly) no rank has children in both.
//
// The first is the in-order tree: the lowest set bit of a rank is its height, and the subtree of a
// rank is a run of ranks around it. The second is its mirror image when the size is even, and the
// same tree on ranks shifted by one when it is odd.
#pragma once

#include <initializer_list>

namespace beeline::coll::pattern {

/// A rank's place in a tree; -1 where there is nobody.
struct TreeNode {
    int parent = -1;
    int children[2] = {-1, -1};  ///< lower ranks first, in the first tree
};

/// The in-order tree of `size` ranks; 0 is the root and has one child.
constexpr TreeNode inorder_tree(int size, int rank) noexcept {
    TreeNode node;
    int bit = 1;
    while (bit < size && (rank & bit) == 0) {
        bit *= 2;
    }
    if (rank == 0) {
        node.children[1] = size > 1 ? bit / 2 : -1;
        return node;
    }
    const int up = (rank ^ bit) | (bit * 2);
    node.parent = up < size ? up : rank ^ bit;
    int low = bit / 2;
    if (low > 0) {
        node.children[0] = rank - low;
        while (low > 0 && rank + low >= size) {
            low /= 2;
        }
        node.children[1] = low > 0 ? rank + low : -1;
    }
    return node;
}

/// Tree 0 or 1 of the pair.
constexpr TreeNode double_tree(int size, int rank, int tree) noexcept {
    if (tree == 0) {
        return inorder_tree(size, rank);
    }
    const bool even = size % 2 == 0;
    TreeNode node = inorder_tree(size, even ? size - 1 - rank : (rank + size - 1) % size);
    for (int* other : {&node.parent, &node.children[0], &node.children[1]}) {
        if (*other >= 0) {
            *other = even ? size - 1 - *other : (*other + 1) % size;
        }
    }
    return node;
}

/// The root of tree 0 or 1.
constexpr int double_tree_root(int size, int tree) noexcept {
    return tree == 0 ? 0 : size % 2 == 0 ? size - 1 : 1 % size;
}

}  // namespace beeline::coll::pattern
