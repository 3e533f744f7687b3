// SPDX-License-Identifier: BSD-3-Clause
// A doubly linked list whose nodes live inside the elements: no allocation, removal in constant
// time.
#pragma once

namespace beeline {

/// Inherit from this to be an element; `Tag` tells apart several lists one element can be in.
template <class Tag = void>
struct ListNode {
    ListNode* previous = nullptr;
    ListNode* next = nullptr;
    bool linked() const noexcept { return next != nullptr; }
};

/// A circular intrusive list. Owns nothing; an element must leave it before it dies.
template <class T, class Tag = void>
class List {
 public:
    using Node = ListNode<Tag>;
    List() noexcept { head_.previous = head_.next = &head_; }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    bool empty() const noexcept { return head_.next == &head_; }
    T* front() noexcept { return empty() ? nullptr : as_element(head_.next); }

    void push_back(T* element) noexcept { insert_before(&head_, element); }
    void push_front(T* element) noexcept { insert_before(head_.next, element); }

    T* pop_front() noexcept {
        T* element = front();
        if (element != nullptr) {
            remove(element);
        }
        return element;
    }

    static void remove(T* element) noexcept {
        Node* node = element;
        node->previous->next = node->next;
        node->next->previous = node->previous;
        node->previous = node->next = nullptr;
    }

    /// The element after `element`, or null at the end. Read it before removing `element`.
    T* after(T* element) noexcept {
        Node* node = static_cast<Node*>(element)->next;
        return node == &head_ ? nullptr : as_element(node);
    }

 private:
    static T* as_element(Node* node) noexcept { return static_cast<T*>(node); }
    void insert_before(Node* where, T* element) noexcept {
        Node* node = element;
        node->previous = where->previous;
        node->next = where;
        where->previous->next = node;
        where->previous = node;
    }
    Node head_;
};

}  // namespace beeline
